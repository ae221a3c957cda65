"""Sessions that prepare a model, watch its training and begin anew after a failure."""
