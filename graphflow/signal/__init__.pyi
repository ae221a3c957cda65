"""Signals, as tf.signal: Fourier and cosine transforms, frames, windows, spectra and their mel bands."""

from graphflow.signal.cosines import dct as dct
from graphflow.signal.cosines import idct as idct
from graphflow.signal.transforms import fft as fft
from graphflow.signal.transforms import fft2d as fft2d
from graphflow.signal.transforms import fft3d as fft3d
from graphflow.signal.transforms import fftshift as fftshift
from graphflow.signal.framing import frame as frame
from graphflow.signal.framing import overlap_and_add as overlap_and_add
from graphflow.signal.windows import hamming_window as hamming_window
from graphflow.signal.windows import hann_window as hann_window
from graphflow.signal.transforms import ifft as ifft
from graphflow.signal.transforms import ifft2d as ifft2d
from graphflow.signal.transforms import ifft3d as ifft3d
from graphflow.signal.transforms import ifftshift as ifftshift
from graphflow.signal.spectra import inverse_stft as inverse_stft
from graphflow.signal.spectra import inverse_stft_window_fn as inverse_stft_window_fn
from graphflow.signal.transforms import irfft as irfft
from graphflow.signal.transforms import irfft2d as irfft2d
from graphflow.signal.transforms import irfft3d as irfft3d
from graphflow.signal.mel import linear_to_mel_weight_matrix as linear_to_mel_weight_matrix
from graphflow.signal.mel import mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms
from graphflow.signal.transforms import rfft as rfft
from graphflow.signal.transforms import rfft2d as rfft2d
from graphflow.signal.transforms import rfft3d as rfft3d
from graphflow.signal.spectra import stft as stft
