package environment

import "crun.dev/crun/internal/lazyregexp"

// condaNames gives conda's name of packages that people know by PyPI's, or by
// what they import: no channel has the left one. This table and the next ones
// are common knowledge, compared by hand with the outputs of conda-forge's
// feedstocks (https://conda-forge.org/feedstock-outputs/) and PyPI's pages; they
// serve a warning alone, and nothing is replaced by them unasked. Names are in
// the form of names.Distribution.
var condaNames = map[string]string{
	"torch":                          "pytorch",
	"opencv-python":                  "opencv",
	"opencv-python-headless":         "opencv",
	"opencv-contrib-python":          "opencv",
	"opencv-contrib-python-headless": "opencv",
	"cv2":                            "opencv",
	"tables":                         "pytables",
	"psycopg2-binary":                "psycopg2",
	"sklearn":                        "scikit-learn",
	"skimage":                        "scikit-image",
	"pil":                            "pillow",
	"bs4":                            "beautifulsoup4",
	"umap":                           "umap-learn",
	"jwt":                            "pyjwt",
	"dotenv":                         "python-dotenv",
	"dateutil":                       "python-dateutil",
	"serial":                         "pyserial",
	"zmq":                            "pyzmq",
	"crypto":                         "pycryptodome",
	"fitz":                           "pymupdf",
	"opengl":                         "pyopengl",
	"kaleido":                        "python-kaleido",
	"annoy":                          "python-annoy",
	"pyqt5":                          "pyqt",
}

// condaSpellings are names of conda's packages of which no channel has the
// other spelling: pip takes "-", "_" and "." for the same, conda does not.
var condaSpellings = []string{
	"absl-py", "charset-normalizer", "flask-cors", "google-auth", "huggingface_hub", "imbalanced-learn", "python-dateutil",
	"pytorch-lightning", "scikit-image", "scikit-learn", "scikit-optimize", "sentence-transformers", "umap-learn",
}

// sameInConda gives further pairs, of the same kind, for a package that is
// asked for twice; they are no reason to speak of a name.
var sameInConda = map[string]string{
	"faiss-gpu":       "faiss",
	"faiss-cpu":       "faiss",
	"torch-geometric": "pyg",
	"torch-scatter":   "pytorch-scatter",
	"torch-sparse":    "pytorch-sparse",
	"torch-cluster":   "pytorch-cluster",
	"graphviz":        "python-graphviz",
	"msgpack":         "msgpack-python",
	"lmdb":            "python-lmdb",
	"xxhash":          "python-xxhash",
	"matplotlib":      "matplotlib-base",
	"dask":            "dask-core",
	"seaborn":         "seaborn-base",
}

// libraries are the C libraries that conda has under the name of a Python
// module, with the package that holds the module.
var libraries = map[string]string{
	"lmdb":        "python-lmdb",
	"xxhash":      "python-xxhash",
	"blosc":       "python-blosc",
	"flatbuffers": "python-flatbuffers",
	"igraph":      "python-igraph",
	"snappy":      "python-snappy",
	"yaml":        "pyyaml",
	"graphviz":    "python-graphviz",
}

// pypiNames gives PyPI's name of packages that people ask pip for by conda's, or
// by what they import; what PyPI has under that name, if anything, is another
// thing. "" is for what conda alone has.
var pypiNames = map[string]string{
	"pytorch":           "torch",
	"pytorch-gpu":       "torch",
	"pytorch-cpu":       "torch",
	"opencv":            "opencv-python",
	"py-opencv":         "opencv-python",
	"libopencv":         "opencv-python",
	"cv2":               "opencv-python",
	"pytables":          "tables",
	"sklearn":           "scikit-learn",
	"skimage":           "scikit-image",
	"pil":               "pillow",
	"image":             "pillow",
	"yaml":              "pyyaml",
	"dotenv":            "python-dotenv",
	"dateutil":          "python-dateutil",
	"umap":              "umap-learn",
	"jwt":               "pyjwt",
	"serial":            "pyserial",
	"zmq":               "pyzmq",
	"attr":              "attrs",
	"crypto":            "pycryptodome",
	"pyg":               "torch-geometric",
	"pytorch-geometric": "torch-geometric",
	"pytorch-scatter":   "torch-scatter",
	"pytorch-sparse":    "torch-sparse",
	"pytorch-cluster":   "torch-cluster",
	"python-lmdb":       "lmdb",
	"python-annoy":      "annoy",
	"python-blosc":      "blosc",
	"python-xxhash":     "xxhash",
	"python-graphviz":   "graphviz",
	"python-kaleido":    "kaleido",
	"docker-py":         "docker",
	"msgpack-python":    "msgpack",
	"matplotlib-base":   "matplotlib",
	"seaborn-base":      "seaborn",
	"dask-core":         "dask",
	"tensorflow-base":   "tensorflow",
	"pyqt":              "pyqt5",
	"faiss":             "faiss-cpu",
	"cudatoolkit":       "",
	"cudnn":             "",
	"pytorch-cuda":      "",
	"pytorch-mutex":     "",
	"cpuonly":           "",
	"libgcc-ng":         "",
	"libstdcxx-ng":      "",
	"gcc":               "",
	"gxx":               "",
	"nodejs":            "",
}

// otherProjects are names in PyPI of projects that have nothing to do with what
// research code means by them, with where that is.
var otherProjects = map[string]struct{ meant, write string }{
	"apex": {"NVIDIA's apex", "git+https://github.com/NVIDIA/apex@COMMIT"},
	"clip": {"OpenAI's CLIP", "git+https://github.com/openai/CLIP.git@COMMIT"},
}

// debianName are names of Debian's packages, which no channel has. Names of
// conda's end in -dev too (libcublas-dev), so that those are named one by one.
var debianName = lazyregexp.New(`^(?:libgl1(?:-mesa-.*)?|libglib2\.0-.*|libsm6|libxext6|libxrender1|libx11-6|libegl1(?:-mesa.*)?|libsndfile1(?:-dev)?|libgomp1|libosmesa6(?:-dev)?|libopenmpi-dev|libgl1-mesa-dev|libglew-dev|libglfw3(?:-dev)?|libjpeg-dev|libpng-dev|libffi-dev|libssl-dev|build-essential|software-properties-common|python3-(?:dev|pip|venv|tk|opencv)|g\+\+)$`)
