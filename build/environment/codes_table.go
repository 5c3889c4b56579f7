package environment

// The sources that several codes have in common.
const (
	sourceConda    = "https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html"
	sourceSpecs    = "https://docs.conda.io/projects/conda/en/stable/user-guide/concepts/pkg-specs.html"
	sourcePipFile  = "https://pip.pypa.io/en/stable/reference/requirements-file-format/"
	sourceMarkers  = "https://peps.python.org/pep-0508/"
	sourceOwn      = "crun itself"
	sourcePractice = "files of public research repositories"
)

var codes = []Code{
	{
		codeEncoding, SeverityError,
		"the file is no text that can be read",
		`An environment file is UTF-8 text of at most 1 MiB. UTF-16, which PowerShell's ">" writes, byte order marks and the
line ends of Windows and old Macs are read too. What is refused is binary, or in an older encoding, in which the same
bytes mean one letter here and another there: save the file as UTF-8.`,
		"https://yaml.org/spec/1.2.2/#52-character-encodings",
	},
	{
		codeOtherFile, SeverityError,
		"the file is another kind of file, or empty",
		`The file was recognised as something else: a list of pip requirements, a list of conda with builds, TOML, a saved web
page and so on. An environment file has the keys name, channels and dependencies. The message says what the file is and
which command or name it is for.`,
		sourceConda,
	},
	{
		codeNotYAML, SeverityError,
		"the file is not YAML",
		`YAML goes by blanks: items of one list begin in one column, there is a blank behind each dash and each colon, and
indentation is of spaces, never tabs. A value that begins with a sign such as * @ or %, or that holds ": ", stands in quotes.
The message names the line and, where it can be told, the slip.`,
		"https://yaml.org/spec/1.2.2/",
	},
	{
		codeNotTOML, SeverityError,
		"the file is not TOML",
		`A pyproject.toml has tables ("[project]") and keys with values ("dependencies = [...]"); text stands in quotes, the
items of a list have commas between them, and no key is there twice. The message names the line.`,
		"https://toml.io/en/v1.0.0",
	},
	{
		codeBadKey, SeverityError,
		"a key that environment files do not have, or one that is there twice",
		`The keys are name, channels, dependencies, variables and prefix. conda passes over others in silence, and with them
over what was meant: "chanels:" leaves the channels out. Of a key that is there twice one value would be lost. Keys that
other tools read from the same file and that change nothing (platforms, category) are accepted; see key-ignored.`,
		sourceConda,
	},
	{
		codeBadName, SeverityError,
		"the name cannot be that of a folder",
		`The environment's name becomes the folder /opt/conda/envs/NAME and a part of the image's name. It may hold blanks and
any printable letter, but no "/", and at most 128 bytes.`,
		sourceOwn,
	},
	{
		codeBadChannel, SeverityError,
		"a channel that is neither a name nor an address",
		`A channel is a name (conda-forge, nvidia/label/cuda-12.4.0) or an address (https://HOST/PATH), one an item. Options,
folders of this machine and variables are not: the build runs elsewhere and sees none of them.`,
		sourceConda,
	},
	{
		codeBadPackage, SeverityError,
		"an item of dependencies that is no conda package",
		`Write one package an item: "python=3.9" (any 3.9), "numpy>=1.20,<2", "pytorch==2.1.0=*cuda11*", "conda-forge::pip".
YAML makes a mapping of "python: 3.9" and a number of 3.9, so neither is a package. What is pip's (addresses of
repositories, "-e .", markers) stands under "- pip:".`,
		sourceSpecs,
	},
	{
		codeBadRequirement, SeverityError,
		"a line of a pip section that pip would not take",
		`Write one requirement an item, as in a requirements file: "einops==0.8.0", "requests[socks]>=2.31; python_version <
'3.10'", "git+https://HOST/REPOSITORY.git@COMMIT", "--extra-index-url https://HOST/simple". pip's sign for one version is
"==", where conda has "=".`,
		sourcePipFile + " and " + sourceMarkers,
	},
	{
		codeBadVariable, SeverityError,
		"a variable that cannot be set",
		`Variables are a mapping of names to one line of text. PATH, CONDA_PREFIX and CONDA_DEFAULT_ENV are the image's own: a
value of the file would hide the environment that was just built. Names that begin with CRUN_ are crun's.`,
		sourceConda,
	},
	{
		codeTorchPython, SeverityError,
		"this torch has no build for this Python",
		`Each release of torch is built for some versions of Python and no others. Nothing can be installed then, so crun
refuses before minutes are spent. torch 2.9 and newer need Python 3.10, and 1.10 knows
nothing newer than 3.9. The last torch is 2.14 for Python 3.10, 2.8 for 3.9, 2.4.1 for 3.8, 1.13.1 for 3.7 and 1.10.2
for 3.6. Ask for a newer Python, or for that torch.`,
		"the wheels for Linux that PyPI lists for torch",
	},
	{
		CodeTarget, SeverityError,
		"a torch that cannot use the GPUs that the image is for",
		`Asked of --cuda, or of build.cuda in profiles.yaml: a torch for CPUs does not use a GPU, and a driver runs the CUDA of its own
major version and of older ones (12.2 runs 12.8, 11.8 runs no 12); torch then trains on the CPU without a word. Write the
lines that the message names. With --cuda none it is a note: CUDA costs some gigabytes that nobody needs there.`,
		"https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
	},
	{
		codeUnsupported, SeverityError,
		"crun cannot build this yet",
		`The line is right, and conda or pip would take it, but crun has no way to build it so that everybody who has the
lock gets the same. Nothing is left out silently: the file is refused, and the message says what does the same.`,
		sourceOwn,
	},
	{
		"build-python", SeverityWarning,
		"builds for another Python than the one that is asked for",
		`py39 in a build string is the Python that the file was built for. Beside "python=3.10" it cannot be installed: the file was
exported with one Python, and the line was edited later. Take the builds out (crun lint --fix), or write the Python of the
builds. A wheel's address with cp37 in its name is for Python 3.7 alone in the same way.`,
		"https://docs.conda.io/projects/conda-build/en/stable/concepts/package-naming-conv.html",
	},
	{
		"channel-name", SeverityWarning,
		"a channel is called by a name that is not its own",
		`Anaconda's channels are called "defaults", with an s; conda-forge has a dash. A channel that does not exist fails when the
packages are chosen; one with a letter too many is somebody else's.`,
		"https://docs.conda.io/projects/conda/en/stable/user-guide/concepts/channels.html",
	},
	{
		"conda-name", SeverityWarning,
		"pip is asked for a package by conda's name",
		`Some packages have one name in conda channels and another in PyPI: pytorch is torch there, opencv is opencv-python.
What PyPI has under conda's name, if anything, is another project or an empty one that fails on purpose.`,
		"the project pages of PyPI and conda-forge",
	},
	{
		"credential-in-file", SeverityWarning,
		"a password or token stands in the file",
		`Everybody who has the repository has the secret. crun keeps it out of layers, labels, logs and locks, but cannot keep
it out of git. Take it out, make it void where it was given, and give it to the build or the run from outside.`,
		sourcePractice,
	},
	{
		"cudatoolkit-ended", SeverityWarning,
		"this version of cudatoolkit does not exist",
		`The package cudatoolkit stops at CUDA 11.8. From 12 on conda-forge has CUDA in parts (cuda-cudart, libcublas, ...),
whose version the package cuda-version sets: write "- cuda-version=12.4". The pytorch channel's builds for CUDA 11.7 to 12.4
are chosen with "- pytorch-cuda=12.4".`,
		"https://conda-forge.org/docs/maintainer/knowledge_base/#cuda-builds",
	},
	{
		"debian-name", SeverityWarning,
		"a package of Debian among those of conda or pip",
		`Names such as libgl1 and build-essential are those of apt; no conda channel and no index of Python packages has them. Put
them into build.apt of the repository's profiles.yaml: they become a layer of their own, with their versions in the lock.`,
		"https://packages.debian.org",
	},
	{
		"duplicate", SeverityWarning,
		"a package is asked for a second time",
		`Both lines count: the solver has to meet them together, which fails where they differ and is a trap for whoever
edits one of them. Keep one.`,
		sourceSpecs,
	},
	{
		"in-conda-and-pip", SeverityWarning,
		"a package is asked for from conda and from pip",
		`pip would write its files over conda's, and conda would not know. Programs then load half of one and half of the
other: "symbol not found" at the first call. Keep one of the two lines; conda's where other conda packages need it.`,
		sourceConda + "#using-pip-in-an-environment",
	},
	{
		"in-python", SeverityWarning,
		"a module of Python itself, listed as a package",
		`os, json, argparse and their like come with Python. What PyPI has under such a name is for Pythons of long ago (typing,
enum34 and futures even break newer ones), is another project, or does not exist. Take the line out.`,
		"https://docs.python.org/3/py-modindex.html",
	},
	{
		"local-version", SeverityWarning,
		"a build that PyPI does not have, and no index that has it is named",
		`What stands behind "+" in a version, as in torch==1.10.0+cu113, is a build of its own. PyPI takes none of those: they are
in an index of their makers, which "--extra-index-url" or "--find-links" has to name in the file. "conda env export" and "pip
freeze" write such versions, but not the index. On a machine whose configuration has an index with those builds, they are found there.`,
		"https://packaging.python.org/en/latest/specifications/version-specifiers/#local-version-identifiers and https://pytorch.org/get-started/previous-versions/",
	},
	{
		"mixed-channels", SeverityWarning,
		"conda-forge and Anaconda's defaults are both named",
		`The two are built with different compilers and pins. Most packages work together by luck; those with C++ or MKL inside
are the first that do not. Keep one of them, conda-forge as a rule.`,
		"https://conda-forge.org/docs/user/tipsandtricks/#using-multiple-channels",
	},
	{
		"mkl-symbol", SeverityWarning,
		"this torch of the pytorch channel fails with MKL 2024.1 and later",
		`The pytorch channel's builds before 2.4 take any MKL, and 2024.1 no longer has a symbol that they need: "undefined symbol:
iJIT_NotifyEvent" at the first import of torch. Write "- mkl<2024.1". conda-forge's builds limit MKL themselves, pip's have it
inside.`,
		"https://github.com/pytorch/pytorch/issues/123097",
	},
	{
		"name-version", SeverityWarning,
		"a version is a part of the name",
		`ffmpeg-4.0 and python3.9 are names of files and programs. To conda the whole is one name, which no channel has. The version
stands behind a sign: "ffmpeg=4.0", "python=3.9".`,
		sourceSpecs,
	},
	{
		"no-python-channel", SeverityWarning,
		"none of the channels has Python",
		`Channels such as pytorch and nvidia hold their own packages and little else. "conda env create" searches the channels of
the user's configuration behind those of the file (defaults, unless somebody has changed that), so that such a file works there
and means something else on each machine. crun takes the file's channels alone. Write conda-forge as the last of them.`,
		sourceConda,
	},
	{
		"numpy-2", SeverityWarning,
		"a torch that is built against NumPy 1, and nothing keeps NumPy below 2",
		`torch before 2.3 imports with NumPy 2 but cannot use it: "Failed to initialize NumPy: _ARRAY_API not found", and
torch.from_numpy and DataLoader fail. Write "- numpy<2". Python 3.8 and older have no NumPy 2, and conda-forge's torch limits
NumPy itself.`,
		"https://github.com/pytorch/pytorch/issues/107302",
	},
	{
		"opencv-twice", SeverityWarning,
		"two packages that both bring the module cv2",
		`opencv-python, opencv-contrib-python and their headless forms put the same files into the environment; which of them are
there in the end is chance. Keep one: opencv-python-headless where no window is opened.`,
		"https://github.com/opencv/opencv-python#installation-and-usage",
	},
	{
		"other-project", SeverityWarning,
		"a name that is another project's in PyPI",
		`PyPI's apex and clip have nothing to do with NVIDIA's apex and OpenAI's CLIP, which are installed from their repositories.
Name the repository, with a commit.`,
		"https://github.com/NVIDIA/apex and https://github.com/openai/CLIP",
	},
	{
		"other-platform", SeverityWarning,
		"a package of Windows or macOS in an image of Linux",
		`"conda env export" writes down what the exporting system had, its C runtime and terminal helpers included. On Linux
those packages do not exist. Take the line out, or mark it "# [win]" or "# [osx]", which crun reads. The same goes for the
address of a wheel whose name ends with win_amd64.whl or with macosx and a version.`,
		"conda-forge's feedstocks vc, msys2-, libcxx, cctools-and-ld64, pyobjc",
	},
	{
		"pip-empty", SeverityWarning,
		"the lines of a pip section are not indented below it",
		`Items below "- pip:" belong to it only where their dashes stand further to the right. In the same column they are conda
packages, and the pip section is empty. Indent them by two more blanks.`,
		"https://yaml.org/spec/1.2.2/#821-block-sequences",
	},
	{
		"pip-sections", SeverityWarning,
		"there is more than one pip section",
		`crun installs them all, one after another. conda itself keeps the last alone and drops the others without a word, so
that the same file gives two environments. Put the lines into one section.`,
		"conda_env's handling of several pip mappings; " + sourceConda,
	},
	{
		"pypi-name", SeverityWarning,
		"conda is asked for a package by PyPI's name",
		`No channel has a package of that name, or one of that name is something else. conda's name is given in the message;
or put the line under "- pip:".`,
		"the package lists of conda-forge and PyPI",
	},
	{
		"python-open", SeverityWarning,
		"a Python without an upper end beside an old torch",
		`"python", or "python>=3.8", lets conda take the newest Python that there is. An older torch has no wheel for it, so that the
file worked when it was written and does not any more. Write the Python that it was written for: "- python=3.9".`,
		"the wheels for Linux that PyPI lists for torch",
	},
	{
		"renamed", SeverityWarning,
		"a package that has ended under this name",
		`tensorflow-gpu has been a part of tensorflow since 2.1; what is left under the old name fails on purpose when it is
installed. Write "- tensorflow".`,
		"https://www.tensorflow.org/install/pip",
	},
	{
		"setuptools-distutils", SeverityWarning,
		"TensorBoard of this torch fails with newer setuptools",
		`torch.utils.tensorboard before 1.11 looks for distutils.version, which setuptools 59.6 and later do not give: "module
'distutils' has no attribute 'version'". Write "- setuptools<59.6".`,
		"https://github.com/pytorch/pytorch/issues/69894",
	},
	{
		"torch-cuda", SeverityWarning,
		"a torch and a CUDA that were not published together",
		`Each release of torch was published for two or three versions of CUDA. Another one is not found, or another build is taken
than the one that was meant, often one for CPUs. The message names the versions that there are.`,
		"https://github.com/pytorch/pytorch/blob/main/RELEASE.md",
	},
	{
		"torch-exit", SeverityWarning,
		"torch 1.7 with Python 3.9 dies at the end of a training",
		`After any backward() the program ends with "terminate called without an active exception" or a segmentation fault, behind
its last line, so that a finished training counts as failed. Take Python 3.8, or torch 1.8 or newer.`,
		"https://github.com/pytorch/pytorch/issues/50858",
	},
	{
		"torch-twice", SeverityWarning,
		"torch is asked for from conda and from pip",
		`pip's torch overwrites conda's and brings its own CUDA, so that gigabytes are installed to be hidden, and torchvision or
torchaudio of the other side do not fit it. Keep one of them.`,
		"https://pytorch.org/get-started/locally/",
	},
	{
		"torch-vision", SeverityWarning,
		"a torchvision or torchaudio that is not made for this torch",
		`The three are published together, and each works with its own torch alone: torch 2.4 with torchvision 0.19 and torchaudio
2.4. Another one fails when it is imported ("undefined symbol", "operator torchvision::nms does not exist"), or pip refuses to
install the two.`,
		"https://github.com/pytorch/vision#installation",
	},
	{
		"torchtext-ended", SeverityWarning,
		"torchtext has no release for this torch",
		`torchtext is no longer developed; its last release, 0.18, is for torch 2.3. Beside a newer torch its library does not load
(undefined symbol). Take torch 2.3, or do without torchtext.`,
		"https://github.com/pytorch/text",
	},
	{
		"vcs-unpinned", SeverityWarning,
		"a repository is named without a commit",
		`The branch's newest commit is taken when the lock is made, and another one when it is made again. Write "@COMMIT" or
"@TAG" behind the address.`,
		"https://pip.pypa.io/en/stable/topics/vcs-support/",
	},
	{
		"python-chosen", SeverityNote,
		"the project does not run on the usual Python",
		`requires-python of a pyproject.toml rules the Python out that crun takes unasked (3.9). The oldest that it allows is
taken: most packages have builds for it, the newest has few. --python chooses another one.`,
		sourceOwn,
	},
	{
		"editable-installed", SeverityNote,
		"\"-e\" stands before what is no folder of the project",
		`pip clones such a repository beside the environment, so that its code can be changed there. In an image nobody
changes it: the repository is installed as a package, as without "-e". To work on its code, clone it into the project and
write "-e ./FOLDER". A folder outside of the project is installed too: a run does not see it.`,
		"https://pip.pypa.io/en/stable/topics/vcs-support/",
	},
	{
		"option-unused", SeverityNote,
		"an option of pip that changes nothing",
		`The option would have changed how pip fetches or chooses, and a build has no use for it, or it has a condition behind it,
which pip does not look at: the message says why. It can
stay for those who install the file with pip.`,
		sourcePipFile,
	},
	{
		"build-pins", SeverityNote,
		"packages are pinned to one exact build",
		`A build string such as py39hb13e2d6_0 names one file of one channel. Another system does not have it, and channels take
builds down. crun.lock pins files by itself. "conda env export --no-builds" leaves them out; "conda env export
--from-history" writes only what was asked for.`,
		sourceConda + "#exporting-the-environment-yml-file",
	},
	{
		"cuda-driver", SeverityNote,
		"a CUDA that needs a new driver",
		`A program that is built for CUDA 13 runs on NVIDIA driver 580.65.06 and newer alone; CUDA 12 needs 525.60.13 and CUDA 11
450.80.02. nvidia-smi shows the driver of a machine. For older drivers choose builds of an older CUDA, such as
"--index-url https://download.pytorch.org/whl/cu126".`,
		"https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/",
	},
	{
		"cuda-unused", SeverityNote,
		"a CUDA of conda beside a torch of pip",
		`pip's torch brings CUDA along, as packages nvidia-*, or inside. The cudatoolkit of conda is not looked for, and makes the
image larger by some gigabytes. Take it out, unless another package needs it (CuPy, older TensorFlow).`,
		"https://pytorch.org/get-started/locally/",
	},
	{
		"defaults-terms", SeverityNote,
		"a channel of Anaconda, which has terms of service",
		`defaults is repo.anaconda.com's pkgs/main and pkgs/r. Their terms ask a licence of organisations of more than 200
people, and conda since 2025 asks each user to accept them ("conda tos accept"): an unattended "conda env create" fails
there. conda-forge asks for nothing.`,
		"https://www.anaconda.com/legal and https://github.com/anaconda/conda-anaconda-tos",
	},
	{
		"full-export", SeverityNote,
		"the file is a full export, which names what comes along by itself too",
		`"conda env export" writes down every package of one system on one day. Most of them came with another one, and a pin
of each is one more way for the file to have no solution elsewhere. "crun lint --fix" leaves Python, torch, what chooses CUDA,
numpy and other libraries that code imports by name, all pip packages, and whatever no other package of the file requires,
each in its version; crun.lock pins the rest. What requires what is read in the prefix that the file names, where it is on
this machine, and in a table of common packages otherwise; a package that neither knows stays. "crun init --from-conda"
does the same for an environment that is there, with what you asked conda for.`,
		"the packages' own metadata in conda-forge, defaults, pytorch and nvidia",
	},
	{
		"key-ignored", SeverityNote,
		"a key of another tool, which is passed over",
		`Some tools read the same file and have keys of their own (platforms and category are conda-lock's; in a pyproject.toml
PDM's indexes and pixi's packages). crun does not follow them; where that changes what is installed it is a
warning, which says what to write.`,
		"https://conda.github.io/conda-lock/src_environment_yml/",
	},
	{
		"library-name", SeverityNote,
		"a C library that has the name of a Python module",
		`conda's lmdb, yaml, graphviz, igraph and some others are the C library or the program alone; the Python module is in another
package (python-lmdb, pyyaml, python-graphviz). Importing it fails where only the library is there.`,
		"https://conda-forge.org/feedstock-outputs/",
	},
	{
		"local-path", SeverityNote,
		"a folder or file beside the environment file",
		`Whoever builds the environment elsewhere needs it too. In git beside the file it is fine; a folder of one machine is
not.`,
		sourcePipFile,
	},
	{
		"no-channels", SeverityNote,
		"no channel is named",
		`conda would take its own configuration's channels, so that the file means one thing here and another there. crun takes
conda-forge. Say so with "channels: [conda-forge]".`,
		sourceConda,
	},
	{
		"opencv-libgl", SeverityNote,
		"opencv-python needs a library of the desktop",
		`The wheels of opencv-python and opencv-contrib-python link libGL.so.1, which slim images lack: "ImportError: libGL.so.1: cannot
open shared object file". Write opencv-python-headless, which is the same without windows, or have libgl1 and
libglib2.0-0 in build.apt of profiles.yaml.`,
		"https://github.com/opencv/opencv-python#installation-and-usage",
	},
	{
		"pip-undeclared", SeverityNote,
		"pip packages are asked for without pip",
		`conda warns of it and adds pip, and so does crun. Write "- pip" among the dependencies.`,
		sourceConda,
	},
	{
		"prefix-ignored", SeverityNote,
		"prefix names a folder of another machine",
		`"conda env export" writes where the environment was. Nobody else has that folder, and crun does not use it. Take the line
out.`,
		sourceConda,
	},
	{
		"python-added", SeverityNote,
		"no Python is asked for",
		`conda then takes whatever python another package needs, or none at all. crun adds one (3.9, or --python). Write the
version that the project was tried with: "- python=3.11".`,
		sourceOwn,
	},
	{
		"python-ended", SeverityNote,
		"a version of Python that gets no more fixes",
		`Channels and PyPI keep what they have for it, but new releases of packages have no build, so that the solver takes old ones of
everything, or finds none.`,
		"https://devguide.python.org/versions/",
	},
	{
		"pytorch-channel-ended", SeverityNote,
		"the pytorch channel gets no new builds",
		`PyTorch stopped publishing to Anaconda's server: the last release in the channel is 2.5.1. Older ones stay where they are. A
newer one comes from conda-forge (pytorch, or pytorch-gpu) or from pip (torch).`,
		"https://github.com/pytorch/pytorch/issues/138506",
	},
	{
		"selector-applied", SeverityNote,
		"a line is left out by its comment",
		`Comments such as "# [win]" choose lines in conda's recipes. In environment files conda reads over them and installs the
line, but what people mean is plain, and crun does that.`,
		"https://docs.conda.io/projects/conda-build/en/stable/resources/define-metadata.html#preprocessing-selectors",
	},
}
