"""The libraries that are measured, and what no automatic call can make: objects, each with the reason why.

An object is an expression; `file` is a path in a folder of its own, and the letters are the arrays of values.py.
Classes that can be called with such arrays, or with nothing, need no line here: they are found.
"""

from __future__ import annotations

from sink_trials.kinds import Library, Thing
from sink_trials.more_libraries import MORE
from sink_trials.other_libraries import OTHERS

# Of scikit-learn's modules those whose functions and estimators users call.
SKLEARN = tuple(
    f"sklearn.{name}"
    for name in (
        *("metrics", "metrics.pairwise", "metrics.cluster", "cluster", "decomposition", "linear_model", "svm"),
        *("tree", "neighbors", "preprocessing", "manifold", "mixture", "naive_bayes", "neural_network"),
        *("discriminant_analysis", "ensemble", "gaussian_process", "covariance", "cross_decomposition"),
        *("kernel_ridge", "isotonic", "calibration", "feature_selection", "model_selection", "random_projection"),
        *("kernel_approximation", "impute", "dummy", "utils", "multiclass", "pipeline", "inspection"),
    )
)
# And of SciPy's: what is inside of them is deprecated, or their own.
SCIPY = tuple(
    f"scipy.{name}"
    for name in (
        *("linalg", "stats", "stats.mstats", "stats.qmc", "signal", "signal.windows", "ndimage", "spatial", "special"),
        *("spatial.distance", "spatial.transform", "fft", "fftpack", "interpolate", "optimize", "io", "io.wavfile"),
        *("cluster.hierarchy", "cluster.vq", "sparse", "sparse.linalg", "sparse.csgraph", "integrate"),
    )
)
SKIMAGE = tuple(
    f"skimage.{name}"
    for name in (
        *("color", "draw", "exposure", "feature", "filters", "graph", "io", "measure", "metrics", "morphology"),
        *("registration", "restoration", "segmentation", "transform", "util"),
    )
)
_SLOW = "each call takes so long that a search for one would find none in its time"
_CHARTS = (
    *("express.area(x=v, y=v)", "express.bar(x=v, y=v)", "express.box(x=v, y=v)", "express.line(x=v, y=v)"),
    *("express.scatter(x=v, y=v)", "express.scatter_3d(x=v, y=v, z=v)", "express.histogram(x=v)"),
    *("express.imshow(m)", "express.pie(values=v)", "express.violin(x=v, y=v)", "express.density_heatmap(x=v, y=v)"),
    *("graph_objects.Bar(x=v, y=v)", "graph_objects.Box(x=v, y=v)", "graph_objects.Contour(z=m)"),
    *("graph_objects.Heatmap(z=m)", "graph_objects.Histogram(x=v)", "graph_objects.Image(z=u)"),
    *("graph_objects.Mesh3d(x=v, y=v, z=v)", "graph_objects.Scatter(x=v, y=v)", "graph_objects.Scattergl(x=v, y=v)"),
    *("graph_objects.Scatter3d(x=v, y=v, z=v)", "graph_objects.Surface(z=m)", "graph_objects.Violin(x=v, y=v)"),
    *("graph_objects.Pie(values=v)", "graph_objects.Volume(x=v, y=v, z=v, value=v)"),
)
_PLOTS = (
    *("heatmap(m)", "lineplot(x=v, y=v)", "scatterplot(x=v, y=v)", "barplot(x=v, y=v)", "boxplot(v)", "boxplot(x=v)"),
    *("violinplot(v)", "stripplot(v)", "swarmplot(v)", "histplot(v)", "histplot(x=v)", "kdeplot(v)", "kdeplot(x=v)"),
    *("ecdfplot(v)", "regplot(x=v, y=v)", "residplot(x=v, y=v)", "displot(v)", "pointplot(x=v, y=v)", "clustermap(m)"),
    *("lineplot(v)", "scatterplot(m)", "countplot(x=i)", "jointplot(x=v, y=v)", "rugplot(v)", "catplot(v)"),
)
_GLYPHS = "line$|scatter$|circle$|vbar$|hbar$|quad$|patch$|image$|varea$|step$|text$"
# The functions of these that are called most; each of the others would take seconds.
_OF_IMAGES = (
    "rgb2|gray2rgb|lab2rgb|hsv2rgb|label2rgb|resize$|rescale$|rotate$|warp$|label$|regionprops$|find_contours|"
    "marching_cubes$|slic$|felzenszwalb|watershed|mark_boundaries|find_boundaries|structural_similarity|peak_signal|"
    "mean_squared_error|gaussian$|sobel$|median$|threshold_otsu|canny|hog$|equalize_|match_histograms|img_as_|montage|"
    "binary_(dilation|erosion)|denoise_(tv_chambolle|bilateral)|random_noise"
)
_MODELS = "OLS$|GLM$|GLS$|WLS$|Logit$|Probit$|RLM$|add_constant|qqplot$|lowess$|acf$|pacf$|adfuller$|kpss$|ccf$"
_SOUNDS = (
    "amplitude_to_db|db_to_|power_to_db|stft$|istft$|griffinlim$|resample$|to_mono|melspectrogram$|mfcc$|rms$|spectral_|"
    "zero_crossing_rate|trim$|split$|onset_strength$|pcen|mu_"
)
_MESHES = "wrap$|Spline$|lines_from_points$|MultipleLines$|PointSet$|line_segments_from_points$|StructuredGrid$"
_PANES = "(line|scatter|bar|histogram|boxplot|heatmap|contour|surf|images?|pie|stem|mesh|quiver|audio|video)$"
_CLOUD = "open3d.geometry.PointCloud(open3d.utility.Vector3dVector(c.astype('f8')))"
_COMPILED = "numba compiles it before the first call, which takes a minute"
_DECORATED = "what it makes of a function is what is called"
_STORE = "`x[...] = value`"
_FIGURE = "a figure takes sizes, and arrays would be such"
_ARTIST = "its axes make it"
_PART = "an object holds it"
_FILE = "it needs a file"

LIBRARIES: tuple[Library, ...] = (
    Library("numpy", modules=("numpy.testing", "numpy.lib.stride_tricks"), unless=(("from_dlpack", "device"),), trials=(
        ("numpy.savez(file, v)", "what stands behind `*args` is not tried beside a file"),
        ("numpy.savez(file, a=v)", "`**kwds` says no names"),
        ("numpy.savez_compressed(file, v)", "as savez"),
        ("numpy.savez_compressed(file, a=v)", "as savez"),
        ("numpy.einsum('i,i', v, v)", "only a pattern that fits the arrays works"),
        ("numpy.put_along_axis(v, i, v, 0)", "indexes are asked for, and an axis"),
        ("numpy.random.choice(v)", "a method of an object that is made at import"),
    )),
    Library("scipy", modules=SCIPY, walks=False, things=(
        Thing("io.netcdf_file", "with_variable(io.netcdf_file(file, 'w'))", "its variables are made by a method"),
        Thing("variables", "with_variable(io.netcdf_file(file, 'w'))", _PART),
    ), trials=(
        ("scipy.io.netcdf_file.__setitem__(..., v)", _STORE),
        ("scipy.variables.__setitem__(..., v)", _STORE),
        ("scipy.stats.norm.pdf(v)", "a method of an object that is made at import"),
        ("scipy.stats.norm.cdf(v)", "as norm.pdf"),
        ("scipy.stats.norm.logpdf(v)", "as norm.pdf"),
        ("scipy.stats.norm.ppf(v)", "as norm.pdf"),
        ("scipy.io.savemat(file, v)", "a dict of arrays is asked for"),
        ("scipy.io.wavfile.write(wav, 16000, v)", "the rate stands between file and data"),
    )),
    Library("sklearn", "scikit-learn", walks=False, modules=SKLEARN, things=(
        Thing("LogisticRegression", "linear_model.LogisticRegression().fit(x, y)", "it learns from labels, as most do"),
        Thing("PCA", "decomposition.PCA(2).fit(x)", "it transforms, as those do that learn without labels"),
    ), trials=(
        ("sklearn.cluster.KMeans(4, init=m)", "as many centres are asked for as there are clusters"),
        ("sklearn.mixture.GaussianMixture(4, means_init=m)", "as KMeans"),
    )),
    Library("matplotlib", modules=(
        "matplotlib.pyplot", "matplotlib.figure", "matplotlib.patches", "matplotlib.collections", "matplotlib.lines",
        "matplotlib.image", "matplotlib.colors", "matplotlib.animation", "matplotlib.tri", "matplotlib.mlab",
        "matplotlib.cbook", "mpl_toolkits.mplot3d.art3d",
    ), walks=False, things=(
        Thing("Axes", "figure.Figure().add_subplot()", _FIGURE),
        Thing("Axes3D", "figure.Figure().add_subplot(projection='3d')", _FIGURE),
        Thing("PolarAxes", "figure.Figure().add_subplot(projection='polar')", _FIGURE),
        Thing("Figure", "figure.Figure()", _FIGURE),
        Thing("Line2D", "figure.Figure().add_subplot().plot(range(6))[0]", _ARTIST),
        Thing("PathCollection", "figure.Figure().add_subplot().scatter([0, 1], [0, 1])", _ARTIST),
        Thing("AxesImage", "figure.Figure().add_subplot().imshow([[0, 1]])", _ARTIST),
        Thing("Rectangle", "figure.Figure().add_subplot().bar([0], [1])[0]", _ARTIST),
        Thing("QuadMesh", "figure.Figure().add_subplot().pcolormesh([[0, 1], [1, 2]])", _ARTIST),
        Thing("Quiver", "figure.Figure().add_subplot().quiver([0, 1], [0, 1])", _ARTIST),
    ), trials=(
        ("matplotlib.patches.FancyArrowPatch(e, e)", "its points are options, which are tried one at a time"),
        ("matplotlib.Axes.set_xticks(v)", "a search would draw thousands of ticks"),
        ("matplotlib.patches.ConnectionPatch(e, e, 'data')", "the names of coordinates are asked for"),
    )),
    Library("pandas", modules=("pandas.plotting", "pandas.api.types"), walks=False, things=(
        Thing("loc", "pandas.DataFrame(m).loc", _PART),
        Thing("iloc", "pandas.DataFrame(m).iloc", _PART),
        Thing("at", "pandas.DataFrame(m).at", _PART),
        Thing("iat", "pandas.DataFrame(m).iat", _PART),
        Thing("DataFrame", "pandas.DataFrame(m)", "of numbers that fit what is put in", is_first=False),
    ), trials=(
        ("pandas.DataFrame.insert(0, 'b', r)", "as many numbers are asked for as there are rows"),
        ("pandas.DataFrame.assign(b=r)", "`**kwargs` says no names"),
        ("pandas.loc.__setitem__(0, r)", _STORE),
        ("pandas.iloc.__setitem__(0, r)", _STORE),
        ("pandas.at.__setitem__((0, 0), s)", _STORE),
        ("pandas.iat.__setitem__((0, 0), s)", _STORE),
    )),
    Library("seaborn", walks=False, only="$", trials=tuple((f"seaborn.{call}", _SLOW) for call in _PLOTS)),
    Library("cv2", "opencv-python-headless", trials=(
        ("cv2.drawContours(u, w, -1, (1, 1, 1))", "contours are a list of arrays of points"),
        ("cv2.polylines(u, w, True, (1, 1, 1))", "as drawContours"),
        ("cv2.fillPoly(u, w, (1, 1, 1))", "as drawContours"),
        ("cv2.findChessboardCorners(g, (4, 4))", "the search takes long"),
        ("cv2.imencode('.png', u)", "a name of a format is asked for"),
        ("cv2.applyColorMap(u, 2)", "the name of the map is a number"),
    )),
    Library("PIL", "pillow", modules=("PIL.Image", "PIL.ImageDraw", "PIL.ImageOps"), walks=False, things=(
        Thing("Image", "Image.new('RGB', (8, 8))", "it is made by a function, of a size"),
        Thing("ImageDraw", "ImageDraw.Draw(Image.new('RGB', (8, 8)))", "it draws on an image"),
    )),
    Library("polars", walks=False),
    Library("networkx", walks=False, methods=False, only="from_|to_|draw|.*_layout|.*matrix", things=(
        Thing("Graph", "networkx.path_graph(6)", "it is made of edges, not of arrays"),
    )),
    Library("skimage", "scikit-image", modules=SKIMAGE, walks=False, methods=False, only=_OF_IMAGES, trials=(
        ("skimage.io.imsave(png, u)", "the name of a file says its format"),
        ("skimage.segmentation.slic(p)", _SLOW),
    )),
    Library("imageio", modules=("imageio.v2", "imageio.v3"), trials=(
        ("imageio.imwrite(png, u)", "the name of a file says its format"),
        ("imageio.imsave(png, u)", "as imwrite"),
        ("imageio.mimsave(gif, n)", "as imwrite"),
        ("imageio.mimwrite(gif, n)", "as imwrite"),
        ("imageio.v2.imwrite(png, u)", "as imwrite"),
        ("imageio.v2.imsave(png, u)", "as imwrite"),
        ("imageio.v2.mimsave(gif, n)", "as imwrite"),
        ("imageio.v2.mimwrite(gif, n)", "as imwrite"),
        ("imageio.v3.imwrite(png, u)", "as imwrite"),
    ), things=(Thing("get_writer", "imageio.get_writer(file + '.gif')", _FILE),)),
    Library("statsmodels", modules=(
        "statsmodels.api", "statsmodels.tsa.api", "statsmodels.stats.api", "statsmodels.nonparametric.api",
    ), walks=False, methods=False, only=_MODELS, trials=(
        ("statsmodels.api.OLS(v, v)", "its second parameter is an option that it cannot do without"),
        ("statsmodels.api.qqplot(v)", _SLOW),
        ("statsmodels.api.tsa.acf(v)", "a module under another name"),
        ("statsmodels.api.tsa.adfuller(v)", "as tsa.acf"),
        ("statsmodels.api.nonparametric.lowess(v, v)", "as tsa.acf"),
    )),
    Library("h5py", things=(
        Thing("File", "h5py.File(file, 'w')", _FILE),
        Thing("Group", "h5py.File(file, 'w').create_group('a')", _FILE),
        Thing("Dataset", "h5py.File(file, 'w').create_dataset('a', data=v)", _FILE),
        Thing("attrs", "h5py.File(file, 'w').attrs", _PART),
    ), trials=(
        ("h5py.attrs.__setitem__('b', v)", _STORE),
        ("h5py.attrs.create('b', v)", "the name stands before the value"),
        ("h5py.attrs.modify('b', v)", "as create"),
        ("h5py.Dataset.__setitem__(..., v)", _STORE),
        ("h5py.Group.__setitem__('b', v)", _STORE),
        ("h5py.File.create_dataset('a', data=v)", "`**kwds` says no names"),
        ("h5py.File.require_dataset('a', (6,), 'f', data=v)", "`**kwds` says no names"),
    )),
    Library("plotly", modules=("plotly.express", "plotly.graph_objects"), walks=False, methods=False, only="$",
            trials=tuple((f"plotly.{call}", _SLOW) for call in _CHARTS)),
    Library("xarray", walks=False, things=(
        Thing("loc", "xarray.DataArray(v, dims='a').loc", _PART),
    ), trials=(
        ("xarray.loc.__setitem__(..., v)", _STORE),
        ("xarray.Variable('a', v)", "the names of the dimensions are asked for"),
        ("xarray.DataArray(v, dims='a')", "as Variable"),
        ("xarray.Dataset(coords=v)", "a dict of arrays is asked for"),
    )),
    Library("zarr", walks=False, things=(
        Thing("Array", "zarr.open_array(file, mode='w', shape=(6,), dtype='f4')", _FILE),
        Thing("Group", "zarr.open_group(file, mode='w')", _FILE),
        Thing("open_group", "zarr.open_group(file, mode='w')", _FILE),
    ), trials=(
        ("zarr.Array.__setitem__(..., v)", _STORE),
        ("zarr.Group.__setitem__('b', v)", _STORE),
        ("zarr.open_group.__setitem__('b', v)", _STORE),
        ("zarr.Group.create_array('a', data=v)", "no shape stands beside data"),
        ("zarr.save(file, v)", "what stands behind `*args` is not tried beside a file"),
        ("zarr.save(file, a=v)", "`**kwargs` says no names"),
        ("zarr.save_array(file, v)", "as save"),
    )),
    Library("tensorboardX", walks=False, things=(
        Thing("SummaryWriter", "tensorboardX.SummaryWriter(file)", _FILE),
    ), trials=(
        ("tensorboardX.SummaryWriter.add_image('a', p, dataformats='HWC')", "the order of the axes is asked for"),
        ("tensorboardX.SummaryWriter.add_scalars('a', s)", "a dict of numbers is asked for"),
    )),
    Library("torch.utils.tensorboard", "tensorboard", things=(
        Thing("SummaryWriter", "SummaryWriter(file)", _FILE),
    )),
    Library("wandb", walks=False, methods=False, trials=(
        ("wandb.Audio(v, sample_rate=16000)", "the rate is asked for, and is an option"),
        ("wandb.Table(data=m, columns=['a', 'b', 'c', 'd'])", "the columns must fit the data"),
    )),
    Library("gymnasium", modules=("gymnasium.spaces",), things=(
        Thing("Box", "spaces.Box(0, 1, (6,))", "a space has bounds and a shape"),
        Thing("Discrete", "spaces.Discrete(6)", "a space has a size"),
        Thing("MultiDiscrete", "spaces.MultiDiscrete([4, 4, 4, 4, 4, 4])", "a space has a size"),
        Thing("MultiBinary", "spaces.MultiBinary(6)", "a space has a size"),
    )),
    Library("shap", walks=False, methods=False),
    Library("lime", modules=("lime.lime_tabular", "lime.lime_image")),
    Library("umap", "umap-learn", walks=False, methods=False, only="$", things=(
        Thing("UMAP", "umap.UMAP(n_neighbors=3, n_epochs=30, init='random').fit(x)", "to fit takes long"),
    ), once="umap.UMAP(n_neighbors=3, n_epochs=30, init='random').fit(x).transform(x[:20] * 0.9)", trials=(
        ("umap.UMAP.fit(x)", _COMPILED),
        ("umap.UMAP.fit(x, y)", _COMPILED),
        ("umap.UMAP.fit_transform(x)", _COMPILED),
        ("umap.UMAP.fit_transform(x, y)", _COMPILED),
        ("umap.UMAP.transform(x)", _COMPILED),
    )),
    Library("xgboost", walks=False, things=(
        Thing("XGBClassifier", "xgboost.XGBClassifier(n_estimators=2)", "a hundred trees take long to fit"),
        Thing("XGBRegressor", "xgboost.XGBRegressor(n_estimators=2)", "as XGBClassifier"),
    )),
    Library("lightgbm", walks=False),
    Library("catboost", walks=False),
    Library("faiss", "faiss-cpu", walks=False, methods=False, only="[a-z]", things=(
        Thing("IndexFlatL2", "trained(faiss.IndexFlatL2(4))", "an index has a dimension"),
        Thing("IndexFlatIP", "trained(faiss.IndexFlatIP(4))", "an index has a dimension"),
        Thing("Kmeans", "faiss.Kmeans(4, 2)", "it has a dimension and a number"),
    ), trials=(
        ("faiss.IndexFlatL2.search(x, 2)", "no signature says what it takes"),
        ("faiss.IndexFlatL2.add(x)", "as search"),
        ("faiss.IndexFlatL2.train(x)", "as search"),
        ("faiss.IndexFlatIP.search(x, 2)", "as search"),
        ("faiss.IndexFlatIP.add(x)", "as search"),
    )),
    Library("hnswlib", things=(
        Thing("Index", "made(hnswlib.Index('l2', 4))", "an index has a space and a dimension"),
    )),
    Library("annoy", things=(
        Thing("AnnoyIndex", "annoy.AnnoyIndex(4, 'angular')", "an index has a dimension and a metric"),
    ), trials=(
        ("annoy.AnnoyIndex.add_item(0, r)", "no signature says what it takes"),
        ("annoy.AnnoyIndex.get_nns_by_vector(r, 1)", "no signature says what it takes"),
    )),
    Library("librosa", modules=("librosa.feature", "librosa.effects", "librosa.onset", "librosa.beat"), walks=False,
            methods=False, only=_SOUNDS),
    Library("soundfile", trials=(("soundfile.write(wav, v, 16000)", "the name of a file says its format"),)),
    Library("trimesh", modules=("trimesh.points",), walks=False, methods=False, trials=(
        ("trimesh.Trimesh(c, k)", "corners and faces must fit"),
    )),
    Library("bokeh", modules=("bokeh.plotting", "bokeh.models"), walks=False, methods=False, only=_GLYPHS, things=(
        Thing("figure", "plotting.figure()", "a figure takes settings, no arrays"),
    ), trials=(
        ("bokeh.figure.scatter(v, v)", "no signature says what it takes"),
        ("bokeh.figure.circle(v, v, radius=1)", "as scatter"),
        ("bokeh.models.ColumnDataSource(v)", "a dict of columns is asked for"),
        ("bokeh.models.ColumnDataSource(data=v)", "a dict of columns is asked for"),
        ("bokeh.plotting.ColumnDataSource(v)", "as in bokeh.models"),
        ("bokeh.plotting.ColumnDataSource(data=v)", "as in bokeh.models"),
    )),
    Library("altair", walks=False, methods=False, plain=True, only="[a-z]", trials=(
        ("altair.InlineData(values=v)", "of its hundreds of classes few take data"),
        ("altair.Data(values=v)", "as InlineData"),
        ("altair.Scale(domain=e)", "as InlineData"),
    )),
    Library("netCDF4", walks=False, things=(
        Thing("Dataset", "netCDF4.Dataset(file, 'w')", _FILE),
        Thing("Variable", "with_variable(netCDF4.Dataset(file, 'w'))", _FILE),
    ), trials=(
        ("netCDF4.Variable.__setitem__(..., v)", _STORE),
        ("netCDF4.Dataset.setncatts(v)", "a dict of attributes is asked for"),
        ("netCDF4.Dataset.setncattr('a', v)", "the name stands before the value"),
        ("netCDF4.num2date(v, 'days since 2000-01-01')", "the unit is a text of its own"),
    )),
    Library("numba", walks=False, methods=False, only="typeof", once="numba.njit(lambda a: a[0])(v)", things=(
        Thing("njit", "numba.njit(lambda a: a[0])", _DECORATED),
        Thing("jit", "numba.jit(lambda a: a[0])", _DECORATED),
        Thing("vectorize", "numba.vectorize(['float32(float32)'])(lambda a: a * 2)", _DECORATED),
    ), trials=(
        ("numba.njit.__call__(v)", _DECORATED),
        ("numba.jit.__call__(v)", _DECORATED),
        ("numba.vectorize.__call__(v)", _DECORATED),
        ("numba.typed.List(v)", "a class of another module"),
    )),
    Library("cvxpy", walks=False, methods=False, trials=(
        ("cvxpy.Parameter(6, value=v)", "`**kwargs` says no names"),
        ("cvxpy.Variable(6, value=v)", "as Parameter"),
    )),
    Library("onnxruntime", walks=False, methods=False, things=(
        Thing("InferenceSession", "onnxruntime.InferenceSession(NEGATIVE)", "it needs a model"),
        Thing("IOBinding", "onnxruntime.InferenceSession(NEGATIVE).io_binding()", "it needs a model"),
    ), trials=(
        ("onnxruntime.InferenceSession.run(None, v)", "a dict by the names of the model's inputs is asked for"),
        ("onnxruntime.IOBinding.bind_cpu_input('a', v)", "the name of an input of the model is asked for"),
        ("onnxruntime.OrtValue.ortvalue_from_numpy(v)", "a function of a class"),
    )),
    Library("onnx", modules=("onnx.numpy_helper", "onnx.helper"), walks=False, methods=False,
            only="from_array|from_list|make_attribute$", trials=(
        ("onnx.helper.make_tensor('a', 1, (6,), v)", "the kind and the shape must fit the array"),
    )),
    Library("mlflow", modules=("mlflow.models", "mlflow.data"), walks=False, methods=False, before="mlflow.end_run()",
            only="infer_signature|from_numpy", trials=(
        ("mlflow.log_param('a', v)", "the name stands before the value"),
        ("mlflow.log_params(v)", "a dict is asked for"),
        ("mlflow.log_metric('a', s)", "the name stands before the value"),
        ("mlflow.log_metrics(s)", "a dict is asked for"),
        ("mlflow.log_image(p, 'a.png')", "the name of a file says its format"),
        ("mlflow.log_dict(v, 'a.json')", "as log_image"),
        ("mlflow.log_table(v, 'a.json')", "as log_image"),
    )),
    Library("open3d", modules=("open3d.utility", "open3d.geometry"), walks=False, methods=False,
            only="Vector[23][di]Vector|Image$|TriangleMesh$|LineSet$|PointCloud$|KDTreeFlann$", things=(
        Thing("PointCloud", _CLOUD, "it needs vectors of its own kind"),
        Thing("TriangleMesh", "open3d.geometry.TriangleMesh.create_box()", "it needs vectors of its own kind"),
    ), trials=(
        ("open3d.utility.Vector3dVector(c)", "no signature says what it takes"),
        ("open3d.utility.Vector2dVector(h)", "as Vector3dVector"),
        ("open3d.utility.Vector3iVector(k)", "as Vector3dVector"),
        ("open3d.geometry.Image(u)", "as Vector3dVector"),
        ("open3d.geometry.KDTreeFlann(c)", "as Vector3dVector"),
        ("open3d.core.Tensor(c)", "as Vector3dVector"),
        ("open3d.core.Tensor.from_numpy(c)", "as Vector3dVector"),
        ("open3d.PointCloud.transform(m)", "as Vector3dVector"),
    )),
    Library("pyvista", walks=False, methods=False, only=_MESHES, once="pyvista.Plotter(off_screen=True)", things=(
        Thing("PolyData", "pyvista.PolyData(c)", "it has hundreds of methods, of which few take arrays"),
        Thing("Plotter", "pyvista.Plotter(off_screen=True)", "it draws nothing by itself"),
        Thing("DataSetAttributes", "pyvista.PolyData(c).point_data", "a mesh has it"),
    ), trials=(
        ("pyvista.PolyData.__setitem__('a', r)", _STORE),
        ("pyvista.DataSetAttributes.__setitem__('a', r)", _STORE),
        ("pyvista.DataSetAttributes.set_array(r, 'a')", "as many numbers are asked for as there are points"),
        ("pyvista.PolyData(c, k)", "points and faces must fit"),
        ("pyvista.vector_poly_data(c, c)", "points and vectors must fit"),
        ("pyvista.Plotter.add_mesh(c)", _SLOW),
        ("pyvista.Plotter.add_points(c)", _SLOW),
        ("pyvista.Plotter.add_lines(c)", _SLOW),
        ("pyvista.Plotter.add_volume(n)", _SLOW),
        ("pyvista.Plotter.add_arrows(c, c)", _SLOW),
    )),
    Library("pydub", walks=False, methods=False, trials=(
        ("pydub.AudioSegment(data=g, sample_width=2, frame_rate=8000, channels=1)", "`**kwargs` says no names"),
    )),
    Library("visdom", walks=False, methods=False, only=_PANES, things=(
        Thing("Visdom", "visdom.Visdom(offline=True, log_to_filename=file)", "it asks a server, or writes into a file"),
    ), trials=(
        ("visdom.Visdom.image(o)", "the channels come first"),
        ("visdom.Visdom.line(v, v)", "its methods are wrapped"),
    )),
    *MORE,
    *OTHERS,
    Library("json", plain=True, methods=False, trials=(("json.dump(v, handle)", "a file is asked for that is open"),)),
    Library("csv", plain=True, things=(
        Thing("writer", "csv.writer(open(file, 'w'))", _FILE),
        Thing("DictWriter", "csv.DictWriter(open(file, 'w'), ['a'])", _FILE),
    ), trials=(
        ("csv.DictWriter.writerow(v)", "a dict of what is written is asked for"),
    )),
    Library("struct", plain=True, trials=(
        ("struct.pack('f', s)", "a pattern that fits the number"),
        ("struct.pack('6f', *v)", "a pattern that fits the numbers"),
    )),
    Library("pickle", plain=True),
    Library("math", plain=True),
    Library("statistics", plain=True),
    Library("random", plain=True),
)


def library_of(root: str) -> Library:
    return next(each for each in LIBRARIES if each.root == root)
