"""Names of the inference engines, the default first; `slice_os.engines` loads numpy."""

ENGINES = ("onnxruntime",)
