"""The estimators of before gf.estimator: what gf.contrib.learn has of them, built on those of today."""
