//! Histograms, quantiles, intervals and the capacity search.
