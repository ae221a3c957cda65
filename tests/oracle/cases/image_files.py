"""Pictures as files: what PNG, JPEG, GIF and BMP files decode to, and what becomes of pixels that were in one.

TensorFlow is asked for the accurate transform of JPEG files, which is Pillow's.
"""

import base64
import zlib

import numpy as np
from harness import Family

FAMILY = Family("image_files")

PICTURES = {
    # 5 x 4 pixels each.
    "rgb_png": (
        "c-rd>@N?(olHy`uVBq!ia0vp^tU%1d!2~2v1}2FEDP>O=$B>FS$xl+IUQS48P!?m8W@BS>v}pP~Re@t>{+R;_JPc8@m>y;BR~7{-"
        "XYh3Ob6Mw<&;$UDK^Ji"
    ),
    "rgba_png": (
        "c-rd>@N?(olHy`uVBq!ia0vp^tU%1d!3HGVjK4YnDNRoo$B>FS$xl+I{$79Zzy}V=%?39NYSIz}Tn>6Pc@^}iW&D}hc<_fYL)KZ*"
        "WwVm^b^<jqc)I$ztaD0e0s#IXABO"
    ),
    "grey_png": (
        "c-rd>@N?(olHy`uVBq!ia0vp^tU%1d0VEibBUa4;Qlg$Njv*CulAm0;aN$BiQUVY-s4?=1Gi=;^`koC)p{J{#%Q~loCIFu56wd"
    ),
    "grey_alpha_png": (
        "c-rd>@N?(olHy`uVBq!ia0vp^tU%1d!2%@TSlONiQlg$Njv*CulArup|B-`fri9&Lg)%jURW-t;zPSrF0TnQKy85}Sb4q9e0G8ks"
        "a{"
    ),
    "palette_png": (
        "c-rd>@N?(olHy`uVBq!ia0vp^tU%1d!VDz0$i65BQW60^A+C)(w>Q?d$nLa|t<`UI43u?LZ)BB|WtEGU^#G}n^mK6yshE?jQ~$sF"
        ">Am0fI^W;@O%F&)U|{f_z#$+MC|d+n#Ng@b=d#Wzp$Pzp)gY("
    ),
    "transparent_palette_png": (
        "c-rd>@N?(olHy`uVBq!ia0vp^tU%1d!VDz0$i65BQW60^A+C)(w>Q?d$nLa|t<`UI43u?LZ)BB|WtEGU^#G}1DGBlm{{R0!gM-$}"
        "FF?Mer;B4q#hhfF`v2We@BOyd`Tp*2dO%VF1B34b4gsM+*&?7K22WQ%mvv4FO#tFTCl>"
    ),
    "bits_png": ("c-rd>@N?(olHy`uVBq!ia0vp^tU%1d2qYNtJWjj?QUabXjv*Cuk|!i2fgn)i1cQ7)w!tBg8c$b0mvv4FO#u7K5Lf"),
    "deep_rgb_png": (
        "c-rd>@N?(olHy`uVBq!ia0vp^tU$~nzyu^`9^4lKq{=*9978JRBtO`3^poGV3l1DEZPkq@cBu*MED`TWd9Wk3o<k+K-osz*&gp*>"
        "?ta{*_S^ZNt9SWLd9MkqUg5sXp5eZmt>xZ@n(8`kTemVRD*5B3*wD*jb6LFd&oX)DpZ%oI_5IeYs}V8Rx0q%ZpS%<sy?Nd=CWez%"
        "CjLtqKZyZdz~JfX=d#Wzp$Py#0z?V"
    ),
    "deep_rgba_png": (
        "c-jHr03ZK}P)<h;3K|Lk000e1NJLTq000F5000CK1^@s67NaQx0001|Nkl<Zc${P4xW)2Lw(u8^fe?tkvnbpPMDMq#YXZ>=&n?{r"
        "qFYiJIBwY=k}Z7eYanEQNKfYc<8UwgLw3hERn|4xAM!7n%D;4%{h<We@})q9Rnue(AM_arRZX)yepn^kt7=+;?9yFzO;ytxi#r0A"
        "?y8!$=w#M2pu(+LvW1t=8whR9@-Nz!8t%0<tFd^-@4BX~S({6$CobK!HS1|<oH_s_4okH!+#@jn0000<MNUMnLSTZ-eqNI"
    ),
    "deep_grey_png": (
        "c-rd>@N?(olHy`uVBq!ia0vp^tU$~n03;ZUPn6vUQWBmnjv*CulAr8Ynz%3z1P>lzV81bwA$BEGdJyl+iy*b0u6{1-oD!M<30xOG"
    ),
    "rgb_bmp": (
        "c-nLFEn|QHGa%LgVpbq#0b)i539z^W5Fg=#U>K0w$r-rQuw`fD_MMHdcCKWQtL1d4HB73FY^iNrRtw}ia_T!8IygoKIyNRb0{N_*"
        "a;%1OtdVl8jdH9j8310Z7#;"
    ),
    "grey_bmp": (
        "c-nQ8XIBUe07h@xMv2HOC6W>%DN36{rKBXuibQCMBHB?IO<P4#6bY3=h>R#v6qz9-S|X|5@cDhtx#ym9f52mCZY#v!X?9z=+rr)a"
        "Ndk!d?eg6eN&KTb{^O4X1nAMD2ZDlv2nh)xEG&$OhzO#hqKJu!AucXX&z?Q$)vFi1d-tYKpFT)PNFXUGN#DMGk&=?4U%!6z@82J3"
        "X=w%w7{I`R1Cf!DVbGvK3?4j~Awz~Rbm&lq4I756tSoYJatt3n9C>+p6ciK~F=7OYii(UJIg(MMMxmsn#OTqZQC3!F%$PB#sHmW-"
        "s>;~0V^LF6W8AoLj2}Oq2@@uuuCC6+i4&PLX%ZS58cd!%8BI-1rc9ZFmX;RU+S*K=I+bbDrlF&wgRZVF)2B~IPfrhheSHiJ3@|h_"
        "#K_19V`F1XOiY+DV+J#4&cxKz6f-k3X3d(#?Af!KGiMIw=H^&fSYT;s$=tbfv9hwl+S;0V^X6e=W5fLU^RczH#m>%-1q&8nZ*R}S"
        "g$r?TaA47*ML0S-vUu@goSd9kvSbNMmo8=5vSln^zMK^+R^aUH%*vH3S+!~vE-o&tUcDMuS69}oS;N}3YjJaPW8J!StY5#L4I4J#"
        "?(U9<hX<aXo_KkA;qC3s#*G{C@$q5PrcG?#ycu6#U;O<1*s^5{Teoh--`}5Y+qSWN`*s2X0tgHYBq%6|;NW0FLP7`)4J9lrjPUSq"
        "cI?=}&Ye4nh=?FEGLopMD0c1I#qQm^*|TR4d-v`oIy#z|m>6PXV~LB4BR)Q!goFh4?c2xx{rfp^-~a~?9^}xWLmWPQm?KAyaP;U="
        "5)%_iN=hO*IhkX}j&c0>aZ*xJNKH-U#EBD}Jb99|v^3Jw(>ZnO6sJ$0CL<$*%*;&AoH@hUvuDZ5%HrI)b7W^{bN>8!E?l_4#fulo"
        "$;lx%H<!G;JT6_jM1Fog1qB6MzI>T0SFUjN>QxF03%Pdf8rQF1=f;g26crV5^X5%%-MU3_aWS`V-{#JpJKVi{mwWf_QBqRE{rmTM"
        "@ZbTZrKOaWmGSW5L(0p`dGzQJj~_p#qN0Mz%1WL*dBW4DPpPV^qPn`8XV0GT{P}ZgYHE1#;sq~XzU0-bSG<1xnm2FW@b>LnYHMqG"
        "_wF6<-@oU>hY!@%)$#G;M?QV}#OKeS`SRrp_4W09{rZ(}-@eh%&_H8jBTY?BG&eWX($d2B@84-{ZRN+0AN>6JleV@te*OAIdwV;-"
        "fB&YVql3=QPP)3f5LdSkNbCN9|MP!1eTb("
    ),
    "one_gif": (
        "c-nLKbh9u|WMyDsXklPjx${-y&h3#qTUORCYpiXFtW7f98OXU)&al>jvsP}UV^X7IV5Fmip`$*hqufeXxkgsGNLD#RRyj^qIR+wt"
        "4u}BR#lRuSpzhJZ@UXF&jYmwwqhSF<BO^Nx2M2?K0)sUG;vF3F"
    ),
    "moving_gif": (
        "c-nLKbh9u|WMyDsXklPjx${-y&h3#qTUORCYpiXFtW7f98OXU)&al>jvsP}UV^X7IV5Fmip`$*hqufeXxkgsGNLD#RRyj^qIR+wt"
        "4u}BR#lRuSpzhJZ@UXF&jYmwwqhSF<BO^Nx2M2?K0)ygD7DfgJ5rpa%TDuGA8bzBK3W|rASox$36buv?o0u3GWDFF5uCWFHh;uir"
    ),
    "rgb_jpeg": (
        "c-s4a<NpH&0WUXCHwH#V1_nkTWcYuZ!I^=VlZ%^+gO{6&n~#r|Usyp@SV%}%T}Dn^K~K}rKu=Rw$Jolt&e+V&Tu0X-+|kX)FDN+3"
        "$Sx`|Dj>ltFvuTd2qPaKpRk~?ny9Fnzp1XNKgr<#0R}-11|9}}W=16jCP7AKLB{__803NOWMu>c1}I=;VrF4wW9I-m8mM5a00R>v"
        "GcywlGb<|#3sANeD9^wm$SS00=*T7<n8>bFC}Pw&aUqAY)5e3MK^H%$7$+4qadL@?OGrwos;O&eYMGdtnOj&|IlH*JxqEne1&4%&"
        "g-1k2C8wmOrDtSj6_=Ejl~+_&HMg|3wRd!OO`1Gq>a^)IX3ko)c*)Xb%U7&iwQ2K~t=qQm*tzS_;Uh<n9Y1mM)TPT;u3o!-<L0f0"
        "j~+jH`t13Om#;p4`uyeVx9>lG{sQ@nk%5^J2C(`|5a=%^78Yg}c96dqnaV*51X)-W4cUYo1KAS`g_VpNIYgW$F5GyKQ`tD^gJ@FG"
        "MJ_QFlZUDwL0$v<j5v=qk>xYE#}NLy#lXYN2#h>tK?Zw<C%RjvsW1Ne@59>YTFI`z*I(FogdJTH_@wTw)%=HYQ+H<bMB86o?)XP("
        "QS-OkGaeLcF8+TL0A5(~hy"
    ),
    "grey_jpeg": (
        "c-s4a<NpH&0WUXCHwH#V1_nkTWcYuZ!I^=VlZ%^+gO{6&n~#r|Usyp@SV%}%T}Dn^K~K}rKu=Rw$Jolt&e+V&Tu0X-+|kX)FDN+3"
        "$Sx`|Dj>ltFv$P^0S0ak1|9}}Mn*w~|3?_)frhg(f&l{*FfuW-u(Gjp0Br&)*ebxl#K_Fd#KO$V%EAJatp&<6un4jWDH=Mm2?r*!"
        "D;0_uHBMZ}q3pErplHy=4=Tn<MNOPsV&W2#QmSg|8k$-rre@|AmR8O#u5Rugo?gKrp<&?>kx|JhscGpMnOVgprDf$6l~v6xt!?cc"
        "on4bAPnkMx`iz;g7A;<~blLJ1D_3pWyk+aQ?K^hvI&}ER(PPI?oIG{u@|COCuHU$M>*1rvPo6$|{^I4UkDoq&`TFhqkDtH(-(uhZ"
        "`Ny8&(U<sr_V?^h?S8BN*ZmJ`{nP?0{rmFo<)6lWoBVI_Kc@Ys_W!>L0Ic_d9R"
    ),
}
FILES = {name: zlib.decompress(base64.b85decode(text)) for name, text in PICTURES.items()}
ACCURATE = "INTEGER_ACCURATE"


def _decoding(tf, name, **options):
    if name.endswith("jpeg"):
        return tf.image.decode_jpeg(FILES[name], dct_method=ACCURATE, **options)
    if name.endswith("bmp"):
        return tf.image.decode_bmp(FILES[name], **options)
    return tf.image.decode_png(FILES[name], **options)


def _declare(name, **options):
    text = ", ".join([name] + ["%s=%s" % (key, getattr(v, "__name__", v)) for key, v in options.items()])
    FAMILY.generated(text, lambda tf, t: _decoding(tf, name, **options), "decoded %s" % text)


for _name in sorted(FILES):
    if _name != "moving_gif":
        _declare(_name)
    FAMILY.generated(
        "decode_image of " + _name,
        lambda tf, t, name=_name: tf.shape(tf.image.decode_image(FILES[name])),
        "decode_image of %s" % _name,
    )
for _name in ("rgb_png", "rgba_png", "grey_png", "palette_png", "rgb_jpeg"):
    _declare(_name, channels=1)
    _declare(_name, channels=3)
for _name in ("rgb_png", "grey_png", "transparent_palette_png"):
    _declare(_name, channels=4)
for _ratio in (2, 4, 8):
    _declare("rgb_jpeg", ratio=_ratio)


@FAMILY.case()
def sixteen_bits(tf, t):
    names = ("deep_rgb_png", "deep_rgba_png", "deep_grey_png", "rgb_png", "grey_png")
    return [tf.image.decode_png(FILES[name], dtype=tf.uint16) for name in names]


@FAMILY.case()
def several_pictures_of_a_file(tf, t):
    moving, one = FILES["moving_gif"], FILES["one_gif"]
    return [
        tf.image.decode_gif(moving),
        tf.io.decode_gif(one, name="single"),
        tf.image.decode_image(moving, expand_animations=False),
        tf.image.decode_gif(FILES["rgb_png"]),
    ]


@FAMILY.case()
def whatever_a_file_is(tf, t):
    contents = t.ph(FILES["rgb_png"], [])
    return [
        tf.image.decode_image(contents),
        tf.image.decode_image(contents, channels=1, dtype=tf.float32, name="grey"),
        tf.io.decode_image(FILES["grey_bmp"], channels=3),
        tf.image.decode_image(FILES["deep_rgb_png"], dtype=tf.uint16),
        tf.shape(tf.image.decode_png(FILES["grey_jpeg"], channels=3)),
        tf.io.decode_jpeg(FILES["rgb_png"]),
    ]


@FAMILY.case()
def heads_of_files(tf, t):
    jpeg, png = FILES["rgb_jpeg"], t.ph(FILES["rgb_png"], [])
    return [
        tf.image.is_jpeg(jpeg, name="first"),
        tf.io.is_jpeg(png),
        tf.image.extract_jpeg_shape(jpeg),
        tf.io.extract_jpeg_shape(FILES["grey_jpeg"], output_type=tf.int64, name="shape"),
    ]


@FAMILY.case()
def parts_of_files(tf, t):
    window = t.ph([2, 3, 5, 7])
    return [
        tf.image.decode_and_crop_jpeg(FILES["grey_jpeg"], window, channels=3, dct_method=ACCURATE),
        tf.shape(tf.image.decode_and_crop_jpeg(FILES["rgb_jpeg"], window)),
        tf.io.decode_and_crop_jpeg(FILES["rgb_jpeg"], [0, 0, 12, 15], channels=1, dct_method=ACCURATE),
    ]


@FAMILY.case()
def pixels_come_back_from_png_files(tf, t):
    found = []
    for channels in (1, 3, 4):
        for dtype, most in (("uint8", 256), ("uint16", 65536)):
            image = t.ph(t.n(most, 5, 6, channels).astype(dtype))
            contents = tf.image.encode_png(image, compression=channels)
            found += [tf.shape(contents), tf.image.decode_png(contents, dtype=image.dtype)]
    return found


@FAMILY.case()
def pixels_come_back_from_jpeg_files(tf, t):
    ramp = np.add.outer(np.arange(16) * 5, np.arange(24) * 4)[..., None] + np.array([0, 20, 60])
    found = []
    for options in (
        {},
        {"quality": 70, "format": "rgb"},
        {"chroma_downsampling": False, "progressive": True},
    ):
        contents = tf.image.encode_jpeg(t.ph(ramp.astype("uint8")), **options)
        found.append(tf.image.decode_jpeg(contents, dct_method=ACCURATE))
    grey = tf.image.encode_jpeg(ramp[..., :1].astype("uint8"), quality=50, optimize_size=True, name="grey")
    return found + [tf.image.decode_jpeg(grey, dct_method=ACCURATE), tf.shape(grey)]


@FAMILY.case(tolerance=(0.01, 0.02))
def another_quality(tf, t):
    ramp = np.add.outer(np.arange(16) * 5, np.arange(24) * 4)[..., None] + np.array([0, 20, 60])
    floats = tf.constant((ramp / 255).astype("float32"))
    return [
        tf.image.adjust_jpeg_quality(floats, 80),
        tf.image.adjust_jpeg_quality(floats, t.ph(60), name="worse"),
        tf.image.random_jpeg_quality(floats, 70, 95, seed=3),
    ]


FAMILY.errors(
    """
    tf.image.decode_png(b"abcdef")
    tf.image.decode_png(b"")
    tf.image.decode_jpeg(b"abc", channels=1)
    tf.image.decode_png(["a", "b"])
    tf.image.decode_png(b"abc", channels=5)
    tf.image.decode_png(b"abc", dtype=tf.int32)
    tf.image.decode_bmp(b"abc")
    tf.image.decode_gif(b"abc")
    tf.image.decode_image(b"abcdefgh")
    tf.image.decode_image(b"abcdefgh", channels=2)
    tf.image.extract_jpeg_shape(b"abc")
    tf.image.encode_png(ph(n(9, 3, 4, 5).astype(np.uint8)))
    tf.image.encode_png(ph(n(9, 3, 4).astype(np.uint8)))
    tf.image.encode_png(ph(n(9, 3, 4, 3)))
    tf.image.encode_png(ph(n(9, 3, 4, 3).astype(np.uint8)), compression=11)
    tf.image.encode_jpeg(ph(n(9, 3, 4, 2).astype(np.uint8)))
    tf.image.encode_jpeg(ph(n(9, 3, 4, 3).astype(np.uint8)), quality=101)
    tf.image.encode_jpeg(ph(n(9, 3, 4, 3).astype(np.uint8)), format="grayscale")
    tf.image.encode_jpeg(ph(n(9, 3, 4, 3).astype(np.uint8)), format="cmyk")
    """
)


@FAMILY.case()
def files_that_are_refused(tf, t):
    png, jpeg, gif, bmp = (FILES[name] for name in ("rgb_png", "rgb_jpeg", "moving_gif", "rgb_bmp"))
    return [
        t.error(lambda build=build: t.run(build()))
        for build in (
            lambda: tf.image.decode_png(png[: len(png) // 2]),
            lambda: tf.image.decode_jpeg(jpeg[: len(jpeg) * 3 // 4]),
            lambda: tf.image.decode_jpeg(jpeg[:40]),
            lambda: tf.image.decode_png(gif),
            lambda: tf.image.decode_png(bmp),
            lambda: tf.image.decode_bmp(bmp[:-10]),
            lambda: tf.image.decode_bmp(bmp, channels=1),
            lambda: tf.image.decode_bmp(png),
            lambda: tf.image.decode_png(jpeg, dtype=tf.uint16),
            lambda: tf.image.decode_image(jpeg, channels=4),
            lambda: tf.image.decode_and_crop_jpeg(jpeg, [5, 5, 20, 2]),
            lambda: tf.image.decode_and_crop_jpeg(jpeg, [-1, 0, 2, 2]),
            lambda: tf.image.decode_and_crop_jpeg(jpeg, [0, 0, 0, 2]),
            lambda: tf.image.extract_jpeg_shape(png),
        )
    ]
