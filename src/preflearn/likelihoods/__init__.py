"""How outcomes depend on latent differences; see `preflearn.likelihoods._contract`."""

from preflearn.likelihoods._contract import Bend, Derivatives, Likelihood, Smoothed
from preflearn.likelihoods.davidson import Davidson
from preflearn.likelihoods.flips import Flipped
from preflearn.likelihoods.gaussian import Gaussian
from preflearn.likelihoods.logit import Logit
from preflearn.likelihoods.resolve import LIKELIHOOD_CLASSES, LIKELIHOOD_NAMES, get_likelihood
from preflearn.likelihoods.threshold import Probit

__all__ = [
    "LIKELIHOOD_CLASSES",
    "LIKELIHOOD_NAMES",
    "Bend",
    "Davidson",
    "Derivatives",
    "Flipped",
    "Gaussian",
    "Likelihood",
    "Logit",
    "Probit",
    "Smoothed",
    "get_likelihood",
]
