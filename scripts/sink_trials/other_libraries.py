"""More libraries that are measured, mostly by what enumeration finds: numbers, files, scores, drawings.

As in libraries.py: what no automatic call can make stands here, with the reason why.
"""

from __future__ import annotations

from sink_trials.kinds import Library, Thing

_FIT = "its arguments must fit each other"
_OPTION = "what it takes is an option without which it does nothing"
_FORMAT = "the name or the format stands before the value"
_FILE = "it needs a file"
_FEW = "of its names few take arrays"

# What takes arrays, and needs no word beyond its names: root, package, and modules to which no attribute leads.
_PLAINLY = (
    *(("imagehash", "ImageHash"), ("mahotas",), ("k3d",), ("ranx",), ("mir_eval",), ("jiwer",), ("cbor2",), ("ujson",)),
    *(("tslearn", "", "tslearn.metrics", "tslearn.utils"), ("fairlearn", "", "fairlearn.metrics"), ("pyquaternion",)),
    *(("museval",), ("joblib",), ("tabulate",), ("mlxtend", "", "mlxtend.evaluate"), ("hdbscan",), ("ml_dtypes",)),
    *(("noisereduce",), ("pyloudnorm",), ("python_speech_features",), ("resampy",), ("pyworld",), ("lmfit",)),
    *(("prettytable",), ("plotext",), ("pint",), ("uncertainties", "", "uncertainties.unumpy"), ("transforms3d",)),
    *(("quaternion", "numpy-quaternion"), ("pykalman",), ("ot", "POT"), ("cvxopt",), ("simplejson",), ("pymoo",)),
    *(("rapidjson", "python-rapidjson"), ("skopt", "scikit-optimize"), ("george",), ("qpsolvers",), ("hyperopt",)),
    *(("pyproj",), ("opt_einsum",), ("audiomentations",), ("tensorstore",), ("tiledb",), ("igraph",), ("arviz",)),
    *(
        ("imblearn", "imbalanced-learn", "imblearn.over_sampling", "imblearn.metrics"),
        ("sacrebleu",),
        ("numdifftools",),
    ),
    *(("seqeval", "", "seqeval.metrics"), ("pygal",), ("dtaidistance", "", "dtaidistance.dtw"), ("fastdtw",)),
    *(("threadpoolctl",), ("autograd", "", "autograd.numpy"), ("pyemd",), ("gudhi",), ("ripser",), ("persim",)),
    *(("torchmetrics",), ("nolds",), ("antropy",), ("pyts", "", "pyts.image"), ("sksurv", "scikit-survival")),
    *(("zfpy",), ("lz4", "", "lz4.frame"), ("zstandard",), ("snappy", "python-snappy"), ("brotli",), ("bitarray",)),
    *(("cloudpickle",), ("dill",), ("xxhash",), ("bson", "pymongo"), ("fastavro",), ("ormsgpack",), ("msgspec",)),
)

OTHERS: tuple[Library, ...] = (
    *(
        Library(root, *package, modules=tuple(modules), walks=False)
        for root, package, modules in ((each[0], each[1:2], each[2:]) for each in _PLAINLY)
    ),
    Library(
        "vedo",
        walks=False,
        methods=False,
        only="Points$|Mesh$|Line$|Lines$|Arrows$|Volume$|Image$|Spheres$",
        trials=(
            ("vedo.Points(c)", _OPTION),
            ("vedo.Line(c)", _OPTION),
            ("vedo.Volume(n)", _OPTION),
            ("vedo.Image(u)", _OPTION),
        ),
    ),
    Library(
        "geopandas",
        walks=False,
        methods=False,
        trials=(
            ("geopandas.points_from_xy(v, v)", _FIT),
            ("geopandas.GeoDataFrame(v)", "a dict of columns is asked for"),
        ),
    ),
    Library(
        "pydicom",
        walks=False,
        methods=False,
        things=(Thing("Dataset", "pydicom.Dataset()", "a file has it"),),
        trials=(("pydicom.Dataset.__setattr__('PatientAge', v)", "an attribute is written"),),
    ),
    Library(
        "lmdb",
        walks=False,
        methods=False,
        only="$",
        things=(Thing("begin", "lmdb.open(file).begin(write=True)", _FILE),),
        trials=(("lmdb.begin.put(b'a', g)", _FORMAT),),
    ),
    Library("anndata", walks=False, methods=False, trials=(("anndata.AnnData(x)", _OPTION),)),
    Library(
        "scanpy",
        modules=("scanpy.pp", "scanpy.tl"),
        walks=False,
        methods=False,
        only="log1p$|normalize_|scale$|pca$",
        trials=(("scanpy.pp.log1p(x)", _OPTION), ("scanpy.pp.scale(x)", _OPTION), ("scanpy.pp.pca(x)", _OPTION)),
    ),
    Library("skorch", walks=False, methods=False),
    Library(
        "gym",
        modules=("gym.spaces",),
        walks=False,
        methods=False,
        things=(
            Thing("Box", "gym.spaces.Box(0, 1, (6,))", "a space has bounds and a shape"),
            Thing("Discrete", "gym.spaces.Discrete(6)", "a space has a size"),
        ),
    ),
    Library("pyod", modules=("pyod.models.knn", "pyod.models.iforest", "pyod.utils"), walks=False, only="KNN|IForest"),
    Library(
        "imgaug",
        modules=("imgaug.augmenters",),
        walks=False,
        methods=False,
        only="$",
        things=(Thing("Fliplr", "augmenters.Fliplr(1.0)", "what it makes is what is called"),),
        trials=(("imgaug.Fliplr.augment_image(u)", _OPTION), ("imgaug.Fliplr.__call__(image=u)", _OPTION)),
    ),
    Library(
        "tables",
        walks=False,
        methods=False,
        only="$",
        things=(Thing("open_file", "tables.open_file(file, 'w')", _FILE),),
        trials=(
            ("tables.open_file.create_array('/', 'a', v)", _FORMAT),
            ("tables.open_file.create_carray('/', 'a', obj=v)", _FORMAT),
            ("tables.open_file.create_earray('/', 'a', obj=v)", _FORMAT),
        ),
    ),
    Library(
        "xlsxwriter",
        "XlsxWriter",
        walks=False,
        methods=False,
        only="$",
        things=(Thing("add_worksheet", "xlsxwriter.Workbook(file).add_worksheet()", "a book has it"),),
        trials=(
            ("xlsxwriter.add_worksheet.write(0, 0, j)", _FORMAT),
            ("xlsxwriter.add_worksheet.write_number(0, 0, j)", _FORMAT),
            ("xlsxwriter.add_worksheet.write_row(0, 0, v)", _FORMAT),
            ("xlsxwriter.add_worksheet.write_column(0, 0, v)", _FORMAT),
        ),
    ),
    Library(
        "openpyxl",
        walks=False,
        methods=False,
        only="$",
        things=(Thing("active", "openpyxl.Workbook().active", "a book has it"),),
        trials=(
            ("openpyxl.active.append(v)", "a list is asked for"),
            ("openpyxl.active.cell(1, 1, j)", _FORMAT),
        ),
        plain=True,
    ),
    Library(
        "bqplot",
        walks=False,
        methods=False,
        only="$",
        trials=(
            ("bqplot.Lines(x=v, y=v)", _FEW),
            ("bqplot.Scatter(x=v, y=v)", _FEW),
            ("bqplot.Bars(x=v, y=v)", _FEW),
        ),
    ),
    Library(
        "folium",
        walks=False,
        methods=False,
        only="$",
        trials=(
            ("folium.Map(location=e)", _FEW),
            ("folium.Marker(e)", _FEW),
            ("folium.PolyLine(h)", _FEW),
            ("folium.Polygon(h)", _FEW),
            ("folium.CircleMarker(e)", _FEW),
        ),
    ),
    Library(
        "rtree",
        walks=False,
        methods=False,
        only="$",
        things=(Thing("Index", "__import__('rtree').index.Index()", "it is empty at first"),),
        trials=(("rtree.Index.insert(0, r)", _FORMAT), ("rtree.Index.intersection(r)", _OPTION)),
    ),
    Library("scs", walks=False, methods=False),
    Library("ecos", walks=False, methods=False, trials=()),
    Library("clarabel", walks=False, methods=False),
    Library(
        "nlopt",
        walks=False,
        methods=False,
        only="$",
        things=(Thing("opt", "nlopt.opt(nlopt.LN_COBYLA, 4)", "it has a dimension"),),
        trials=(
            ("nlopt.opt.set_lower_bounds(r)", _OPTION),
            ("nlopt.opt.set_upper_bounds(r)", _OPTION),
            ("nlopt.opt.set_initial_step(r)", _OPTION),
        ),
    ),
    Library("pyswarms", walks=False, methods=False),
    Library("dynesty", walks=False, methods=False, only="$", trials=()),
    Library(
        "bayes_opt",
        "bayesian-optimization",
        walks=False,
        methods=False,
        only="$",
        things=(
            Thing(
                "BayesianOptimization",
                "bayes_opt.BayesianOptimization(None, {'a': (0, 1)}, verbose=0)",
                "it has bounds",
            ),
        ),
        trials=(("bayes_opt.BayesianOptimization.register({'a': 0.5}, target=s)", _FORMAT),),
    ),
    Library(
        "gensim",
        modules=("gensim.matutils", "gensim.models"),
        walks=False,
        methods=False,
        only="unitvec|cossim|.*sparse.*|.*dense.*|KeyedVectors$",
        things=(Thing("KeyedVectors", "gensim.models.KeyedVectors(4)", "it has a dimension"),),
        trials=(
            ("gensim.KeyedVectors.add_vector('a', r)", _FORMAT),
            ("gensim.KeyedVectors.add_vectors(['a', 'b', 'c', 'd'], m)", _FORMAT),
        ),
    ),
    Library("implicit", walks=False, methods=False),
    Library("ray", walks=False, methods=False, only="$"),
    Library(
        "rasterio",
        modules=("rasterio.transform", "rasterio.features"),
        walks=False,
        methods=False,
        only="rasterize|sieve|shapes|xy$|rowcol$",
        things=(
            Thing(
                "open", "rasterio.open(file, 'w', driver='GTiff', height=16, width=16, count=1, dtype='uint8')", _FILE
            ),
        ),
        trials=(("rasterio.open.write(g, 1)", _FORMAT),),
    ),
    Library("decord", walks=False, methods=False),
    Library("datashader", walks=False, methods=False),
    Library(
        "optax",
        walks=False,
        methods=False,
        only="l2_loss|huber_loss|.*cross_entropy.*|cosine_.*",
        trials=(("optax.l2_loss(v, v)", "what is jitted takes longer to search"),),
    ),
    Library(
        "numpyro",
        modules=("numpyro.distributions",),
        walks=False,
        methods=False,
        only="$",
        trials=(("numpyro.distributions.Normal(v, v)", _FIT),),
    ),
    Library("evaluate", walks=False, methods=False),
    Library("sktime", walks=False, methods=False),
    Library("praat", "praat-parselmouth"),
    Library(
        "parselmouth",
        "praat-parselmouth",
        walks=False,
        methods=False,
        only="$",
        trials=(("parselmouth.Sound(t, 16000)", _FIT),),
    ),
    Library("skvideo", "scikit-video", modules=("skvideo.measure", "skvideo.io"), walks=False, methods=False),
    Library("fpsample", walks=False, methods=False, trials=(("fpsample.fps_sampling(c, 2)", _FIT),)),
    Library("tensorboard", walks=False, methods=False),
    Library("plotnine", walks=False, methods=False, only="$", trials=()),
    Library(
        "pydantic",
        walks=False,
        methods=False,
        only="$",
        things=(Thing("TypeAdapter", "pydantic.TypeAdapter(list[float])", "a type is asked for"),),
        trials=(("pydantic.TypeAdapter.validate_python(v)", "a type is asked for"),),
    ),
    Library("fractions", plain=True, methods=False),
    Library("array", plain=True, methods=False, trials=(("array.array('f', v)", "the code of a type is asked for"),)),
    Library("marshal", plain=True, methods=False),
    Library("cmath", plain=True),
    Library("bisect", plain=True, methods=False),
    Library("heapq", plain=True, methods=False),
)
