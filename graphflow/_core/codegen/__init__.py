"""From texts of kernels to machine code; knows neither plan nor runtime."""
