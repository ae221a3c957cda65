"""Clusters and mixtures (tf.contrib.factorization)."""

from graphflow.contrib.factorization.clustering import CLUSTERS_VAR_NAME as CLUSTERS_VAR_NAME
from graphflow.contrib.factorization.clustering import COSINE_DISTANCE as COSINE_DISTANCE
from graphflow.estimator.learn.gmm import GMM as GMM
from graphflow.contrib.factorization.clustering import KMC2_INIT as KMC2_INIT
from graphflow.contrib.factorization.clustering import KMEANS_PLUS_PLUS_INIT as KMEANS_PLUS_PLUS_INIT
from graphflow.contrib.factorization.clustering import KMeans as KMeans
from graphflow.estimator.canned.kmeans import KMeansClustering as KMeansClustering
from graphflow.contrib.factorization.clustering import RANDOM_INIT as RANDOM_INIT
from graphflow.contrib.factorization.clustering import SQUARED_EUCLIDEAN_DISTANCE as SQUARED_EUCLIDEAN_DISTANCE
from graphflow._core.ops.nn.clustering import kmc2_chain_initialization as kmc2_chain_initialization
from graphflow._core.ops.nn.clustering import kmeans_plus_plus_initialization as kmeans_plus_plus_initialization
from graphflow._core.ops.nn.clustering import nearest_neighbors as nearest_neighbors
