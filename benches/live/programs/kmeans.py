"""scikit-learn KMeans, one thread: whole passes over the samples plus a few hot centres."""
import numpy as np
from sklearn.cluster import KMeans

SAMPLES, FEATURES, CLUSTERS = 1_300_000, 50, 8  # 520 MB of float64

random = np.random.default_rng(1)
samples = np.empty((SAMPLES, FEATURES))
for first in range(0, SAMPLES, 10_000):  # in blocks, so that no second array of this size is needed
    random.random(out=samples[first : first + 10_000])

# In place and with no tolerance to work out, scikit-learn makes no copy of the
# samples; the centres start from random samples, in place of k-means++.
model = KMeans(CLUSTERS, init="random", n_init=1, max_iter=2, tol=0, copy_x=False, random_state=1)
model.fit(samples)

assert model.n_iter_ == 2 and len(model.labels_) == SAMPLES
print(round(model.inertia_))
