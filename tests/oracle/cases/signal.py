"""Fourier and cosine transforms, frames, windows, spectra and mel bands."""

from harness import Family

FAMILY = Family("signal")

_COMPLEX = "(f(2, 3, 4) + 1j * f(2, 3, 4)[:, ::-1]).astype(np.complex64)"

# What is added is far above the rounding of elements that are zero.
for _suffix in ("", "2d", "3d"):
    for _part in ("real", "imag"):
        FAMILY.expressions(
            """
            tf.{1}(tf.signal.fft{0}(ph(C))) + 20
            tf.{1}(tf.signal.ifft{0}(ph(C, [None, 3, 4]), name="back")) + 20
            tf.{1}(tf.signal.rfft{0}(ph(f(2, 3, 4)))) + 20
            tf.{1}(tf.signal.rfft{0}(ph(f(2, 3, 5)))) + 20
            """.format(_suffix, _part)
            .replace("C)", _COMPLEX + ")")
            .replace("C,", _COMPLEX + ",")
        )
    FAMILY.expressions("tf.signal.irfft{0}(ph(C)) + 20".format(_suffix).replace("C", _COMPLEX))
FAMILY.differentiable(
    """
    tf.abs(tf.signal.rfft(ph(f(2, 4) + 3)))
    tf.abs(tf.signal.rfft(ph(f(2, 5) + 3), [8]))
    tf.abs(tf.signal.rfft2d(tf.exp(ph(f(3, 4)))))
    tf.signal.irfft(tf.complex(ph(f(2, 3)), ph(f(2, 3))))
    tf.signal.irfft(tf.complex(ph(f(2, 3)), ph(f(2, 3))), [5])
    tf.signal.irfft2d(tf.complex(ph(f(3, 3)), ph(f(3, 3))))
    tf.signal.dct(ph(f(2, 4)))
    tf.signal.dct(ph(f(2, 5)), norm="ortho")
    tf.signal.dct(ph(f(2, 4)), type=1)
    tf.signal.dct(ph(f(2, 4)), 3)
    tf.signal.dct(ph(f(2, 4)), 3, norm="ortho")
    tf.signal.idct(ph(f(2, 4)))
    tf.signal.frame(ph(f(2, 7)), 3, 2)
    tf.signal.frame(ph(f(2, 7)), 3, 2, pad_end=True, pad_value=0.5)
    tf.signal.frame(ph(f(5, 2)), 2, 2, axis=0)
    tf.signal.overlap_and_add(ph(f(2, 3, 4)), 2)
    tf.signal.overlap_and_add(ph(f(3, 4)), 5)
    tf.abs(tf.signal.stft(tf.exp(ph(f(2, 9))), 4, 2))
    tf.math.multiply_no_nan(ph(f(3)), ph([0.0, 2.0, -1.0]))
    tf.math.reciprocal_no_nan(ph([0.0, 2.0, -1.0]))
    tf.math.nextafter(ph(f(3)), ph(f(3) + 1))
    """
)
# What these are made of differs, and with it the names.
FAMILY.expressions(
    """
    tf.identity(tf.signal.fftshift(ph(f(3, 4))), "r")
    tf.identity(tf.signal.ifftshift(ph(f(3, 4)), axes=1), "r")
    tf.identity(tf.signal.hann_window(5), "r")
    tf.identity(tf.signal.hann_window(6, periodic=False), "r")
    tf.identity(tf.signal.hamming_window(6), "r")
    tf.identity(tf.signal.hann_window(1), "r")
    tf.identity(tf.signal.linear_to_mel_weight_matrix(5, 17), "r")
    tf.identity(tf.signal.mfccs_from_log_mel_spectrograms(ph(f(2, 5))), "r")
    tf.identity(tf.signal.inverse_stft(tf.signal.stft(ph(f(2, 12)), 4, 2), 4, 2), "r")
    tf.identity(tf.signal.inverse_stft_window_fn(2)(4, tf.float32), "r")
    tf.identity(tf.histogram_fixed_width_bins(ph(f(2, 3)), [-1.0, 1.0], 4), "r")
    tf.identity(tf.einsum("ii", ph(f(3, 3))), "r")
    """
)
FAMILY.errors(
    """
    tf.signal.dct(ph(f(2, 4)), 4)
    tf.signal.dct(ph(f(2, 4)), 1, norm="ortho")
    tf.signal.dct(ph(f(2, 4)), axis=0)
    tf.signal.hann_window(5, dtype=tf.int32)
    tf.signal.overlap_and_add(ph(f(4)), 2)
    tf.signal.linear_to_mel_weight_matrix(0)
    tf.signal.linear_to_mel_weight_matrix(sample_rate=800)
    tf.signal.fft2d(ph(np.ones([3], np.complex64)))
    tf.einsum("ii->", ph(f(3, 3)))
    """
)
