"""Names of the inference engines, the default first; `slice_os.encoder.engines` loads numpy."""

ENGINES = ("onnxruntime",)
