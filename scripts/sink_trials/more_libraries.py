"""The libraries around training that are measured: detection, sound, medicine, vector stores, optimisers, pages.

As in libraries.py: what no automatic call can make stands here, with the reason why.
"""

from __future__ import annotations

from sink_trials.kinds import Library, Thing

_FILE = "it needs a file"
_INDEX = "an index has a dimension"
_NAMED = "the name, the number or the format stands before the value"
_FORMAT = "the name of a file says its format"
_FIT = "its arguments must fit each other"
_OPTION = "what it takes is an option without which it does nothing"
_OF_CLASS = "a function of a class"
_DICT = "a dict of arrays is asked for"
_STORE = "`x[...] = value`"
_FEW = "of its hundreds of names few take arrays"
_SLOW = "each call takes so long that a search for one would find none in its time"


def _by_hand(root: str, why: str, *calls: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"{root}.{call}", why) for call in calls)


_ELEMENTS = ("Curve", "Scatter", "Points", "Histogram", "Bars", "Spikes", "Area", "Path", "ErrorBars", "VectorField")
_CHARTS = "(line|bar|area|scatter)_chart$|dataframe$|table$|image$|metric$|data_editor$|json$|audio$|map$|write$"

_SPARSE = "__import__('scipy.sparse').sparse.csc_matrix(d)"

MORE: tuple[Library, ...] = (
    # Detection and tracking.
    Library(
        "pycocotools",
        modules=("pycocotools.mask",),
        walks=False,
        methods=False,
        trials=(
            ("pycocotools.mask.encode(f)", "an array in the order of Fortran is asked for"),
            ("pycocotools.mask.iou(m, m, [0, 0, 0, 0])", _FIT),
            ("pycocotools.mask.frPyObjects(m, 8, 8)", _FIT),
        ),
    ),
    Library(
        "supervision",
        walks=False,
        methods=False,
        things=(Thing("Detections", "supervision.Detections(m)", "corners are asked for"),),
        trials=(
            ("supervision.Detections(m)", "corners are asked for"),
            ("supervision.Detections(m, confidence=r)", "corners are asked for"),
            ("supervision.Detections(m, class_id=l)", "corners are asked for"),
        ),
    ),
    Library("lap", "lapx", walks=False, trials=(("lap.lapjv(d)", "numbers of double precision are asked for"),)),
    Library(
        "filterpy",
        modules=("filterpy.kalman", "filterpy.common", "filterpy.stats"),
        walks=False,
        methods=False,
        things=(Thing("KalmanFilter", "kalman.KalmanFilter(4, 2)", "a filter has dimensions"),),
        trials=(
            ("filterpy.KalmanFilter.update(e)", "as many numbers are asked for as it measures"),
            ("filterpy.KalmanFilter.predict(F=m)", _FIT),
        ),
    ),
    # Sound.
    Library(
        "pesq",
        walks=False,
        methods=False,
        trials=(
            ("pesq.pesq(16000, t, t, 'wb')", "the rate stands before the sound"),
            ("pesq.pesq(8000, t, t, 'nb')", "the rate stands before the sound"),
        ),
    ),
    Library(
        "pystoi",
        walks=False,
        methods=False,
        trials=(
            ("pystoi.stoi(t, t, 10000)", "the sound must be long enough"),
            ("pystoi.stoi(t, t, 8000)", "the sound must be long enough"),
        ),
    ),
    Library(
        "pywt",
        "PyWavelets",
        walks=False,
        methods=False,
        trials=(
            ("pywt.dwt(v, 'db1')", "the name of a wavelet is asked for"),
            ("pywt.wavedec(t, 'db2')", "the name of a wavelet is asked for"),
            ("pywt.waverec(m, 'db1')", "the name of a wavelet is asked for"),
            ("pywt.dwt2(m, 'db1')", "the name of a wavelet is asked for"),
            ("pywt.wavedec2(g, 'db1')", "the name of a wavelet is asked for"),
            ("pywt.cwt(v, [1, 2], 'morl')", "the name of a wavelet is asked for"),
            ("pywt.swt(v, 'db1', 1)", "the name of a wavelet is asked for"),
            ("pywt.dwtn(m, 'db1')", "the name of a wavelet is asked for"),
            ("pywt.threshold(v, 0.5)", _OPTION),
        ),
    ),
    # Medicine and pictures.
    Library(
        "SimpleITK",
        "simpleitk",
        walks=False,
        methods=False,
        only="GetImageFromArray$",
        trials=(("SimpleITK.GetImageFromArray(p)", _OPTION),),
        things=(Thing("Image", "SimpleITK.Image(4, 4, SimpleITK.sitkFloat32)", "it has a size"),),
    ),
    Library(
        "nibabel",
        walks=False,
        methods=False,
        trials=(
            ("nibabel.Nifti1Image(p, m)", _FIT),
            ("nibabel.Nifti2Image(p, m)", _FIT),
            ("nibabel.MGHImage(p, m)", _FIT),
            ("nibabel.AnalyzeImage(p, m)", _FIT),
            ("nibabel.affines.apply_affine(m, c)", _FIT),
        ),
    ),
    Library(
        "tifffile",
        walks=False,
        methods=False,
        things=(Thing("TiffWriter", "tifffile.TiffWriter(file)", _FILE),),
        trials=(
            ("tifffile.imwrite(file, v)", _FORMAT),
            ("tifffile.imwrite(file, g)", _FORMAT),
            ("tifffile.TiffWriter.write(g)", _OPTION),
        ),
    ),
    Library(
        "albumentations",
        walks=False,
        methods=False,
        only="$",
        things=(
            Thing("HorizontalFlip", "albumentations.HorizontalFlip(p=1)", "what it makes is what is called"),
            Thing("Compose", "albumentations.Compose([albumentations.HorizontalFlip(p=1)])", "as HorizontalFlip"),
        ),
        trials=(
            ("albumentations.HorizontalFlip.__call__(image=p)", "`**kwargs` says no names"),
            ("albumentations.Compose.__call__(image=p)", "`**kwargs` says no names"),
            ("albumentations.Compose.__call__(image=u, mask=g)", "`**kwargs` says no names"),
        ),
    ),
    Library(
        "av",
        walks=False,
        methods=False,
        trials=(
            ("av.VideoFrame.from_ndarray(u, 'rgb24')", _OF_CLASS),
            ("av.AudioFrame.from_ndarray(a, 'fltp', '2.1')", _OF_CLASS),
        ),
    ),
    Library(
        "moviepy",
        walks=False,
        methods=False,
        only="ImageSequenceClip$|ImageClip$",
        trials=(
            ("moviepy.ImageSequenceClip(u, fps=1)", "a list of pictures is asked for, and a rate"),
            ("moviepy.ImageClip(u, duration=1)", "how long it lasts is asked for"),
        ),
    ),
    # Vector stores.
    Library(
        "qdrant_client",
        "qdrant-client",
        walks=False,
        methods=False,
        things=(
            Thing(
                "QdrantClient",
                "[c := qdrant_client.QdrantClient(':memory:'), c.create_collection('a', vectors_config="
                "qdrant_client.models.VectorParams(size=4, distance='Cosine'))][0]",
                "a collection has a dimension",
            ),
        ),
        trials=(
            ("qdrant_client.QdrantClient.query_points('a', query=r)", _NAMED),
            ("qdrant_client.QdrantClient.upload_collection('a', vectors=m)", _NAMED),
            ("qdrant_client.models.PointStruct(id=1, vector=r)", _NAMED),
        ),
    ),
    Library(
        "chromadb",
        walks=False,
        methods=False,
        only="$",
        things=(Thing("Collection", "chromadb.EphemeralClient().get_or_create_collection('abc')", "a client has it"),),
        trials=(
            ("chromadb.Collection.add('1', embeddings=r)", _NAMED),
            ("chromadb.Collection.add(['1', '2', '3', '4'], embeddings=m)", _NAMED),
            ("chromadb.Collection.upsert('1', embeddings=r)", _NAMED),
            ("chromadb.Collection.query(query_embeddings=r)", _OPTION),
        ),
    ),
    Library(
        "lancedb",
        walks=False,
        methods=False,
        only="$",
        things=(
            Thing(
                "Table", "lancedb.connect(file).create_table('a', data=[{'vector': [0.0, 1, 2, 3], 'id': 1}])", _FILE
            ),
        ),
        trials=(("lancedb.Table.search(r)", _OPTION),),
    ),
    Library(
        "usearch",
        modules=("usearch.index",),
        walks=False,
        methods=False,
        things=(Thing("Index", "index.Index(ndim=4)", _INDEX),),
        trials=(
            ("usearch.Index.add(1, r)", _NAMED),
            ("usearch.Index.search(r, 1)", _INDEX),
        ),
    ),
    Library("pgvector", walks=False),
    Library(
        "voyager",
        walks=False,
        methods=False,
        things=(Thing("Index", "voyager.Index(voyager.Space.Euclidean, num_dimensions=4)", _INDEX),),
        trials=(
            ("voyager.Index.add_item(r)", "no signature says what it takes"),
            ("voyager.Index.add_items(m)", "no signature says what it takes"),
        ),
    ),
    Library("sqlite_vec", "sqlite-vec", walks=False, methods=False),
    Library(
        "pynndescent",
        walks=False,
        methods=False,
        only="$",
        once="pynndescent.NNDescent(x)",
        trials=(("pynndescent.NNDescent(x)", "numba compiles it before the first call, which takes a minute"),),
    ),
    # Tables and wire formats.
    Library(
        "pyarrow",
        walks=False,
        methods=False,
        only="array$|table$|scalar$|record_batch$|infer_type$",
        trials=(
            ("pyarrow.array(v)", _OPTION),
            ("pyarrow.table(v)", _DICT),
            ("pyarrow.scalar(s)", "a number is asked for"),
            ("pyarrow.Tensor.from_numpy(v)", _OF_CLASS),
            ("pyarrow.Table.from_pydict(v)", _OF_CLASS),
            ("pyarrow.RecordBatch.from_pydict(v)", _OF_CLASS),
            ("pyarrow.Table.from_arrays(m, names=['a', 'b', 'c', 'd'])", _OF_CLASS),
        ),
    ),
    Library("awkward", walks=False, methods=False, takes_cuda=".*"),  # where CuPy is installed
    Library("datasets", walks=False, methods=False, only="$", trials=(("datasets.Dataset.from_dict(v)", _OF_CLASS),)),
    Library("orjson", walks=False, trials=(("orjson.dumps(v, None, 16)", "arrays work with an option alone"),)),
    Library("msgpack", plain=True, walks=False),
    Library(
        "numcodecs",
        walks=False,
        things=(
            Thing("Blosc", "numcodecs.Blosc()", "text and bytes have a method of this name too"),
            Thing("Zstd", "numcodecs.Zstd()", "as Blosc"),
            Thing("LZ4", "numcodecs.LZ4()", "as Blosc"),
            Thing("GZip", "numcodecs.GZip()", "as Blosc"),
        ),
    ),
    Library(
        "blosc2",
        walks=False,
        methods=False,
        trials=(
            ("blosc2.asarray(v)", _OPTION),
            ("blosc2.pack_array2(v)", _OPTION),
            ("blosc2.pack_tensor(v)", _OPTION),
        ),
    ),
    Library(
        "safetensors",
        modules=("safetensors.numpy",),
        walks=False,
        methods=False,
        trials=(
            ("safetensors.numpy.save(v)", _DICT),
            ("safetensors.numpy.save_file(v, file)", _DICT),
        ),
    ),
    # Experiments.
    Library(
        "optuna",
        walks=False,
        methods=False,
        only="$",
        things=(
            Thing("Trial", "optuna.create_study().ask()", "a study makes it"),
            Thing("Study", "optuna.create_study()", "a function makes it"),
        ),
        once="optuna.logging.set_verbosity(50)",
        trials=(
            ("optuna.Trial.report(s, 0)", "a number is asked for"),
            ("optuna.trial.create_trial(value=s)", _OPTION),
        ),
    ),
    Library(
        "cma",
        walks=False,
        methods=False,
        only="$",
        things=(
            Thing(
                "CMAEvolutionStrategy",
                "cma.CMAEvolutionStrategy([0, 0, 0, 0], 0.5, {'popsize': 4, 'verbose': -9})",
                "a start is asked for, and how wide to search",
            ),
        ),
        trials=(
            ("cma.CMAEvolutionStrategy(v, 0.5)", _FIT),
            ("cma.CMAEvolutionStrategy.tell([[1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6], [1, 1, 2, 2]], r)", _FIT),
        ),
    ),
    Library(
        "nevergrad",
        walks=False,
        methods=False,
        only="$",
        things=(
            Thing(
                "Optimizer",
                "[o := nevergrad.optimizers.OnePlusOne(parametrization=2, budget=10), type('Optimizer', (), "
                "{'tell': lambda self, candidate, loss: o.tell(o.ask(), loss)})()][1]",
                "a candidate stands before it",
            ),
        ),
        trials=(
            ("nevergrad.Optimizer.tell(0, s)", "a candidate stands before it"),
            ("nevergrad.p.Array(init=v)", _OPTION),
            ("nevergrad.p.Scalar(init=s)", _OPTION),
        ),
    ),
    Library(
        "emcee",
        walks=False,
        methods=False,
        only="$",
        things=(Thing("EnsembleSampler", "emcee.EnsembleSampler(40, 4, lambda p: 0.0)", "a function is asked for"),),
        trials=(
            ("emcee.EnsembleSampler.run_mcmc(x, 1)", _FIT),
            ("emcee.EnsembleSampler.compute_log_prob(x)", _FIT),
            ("emcee.autocorr.integrated_time(t, quiet=True)", "a long chain is asked for"),
            ("emcee.State(x)", _OPTION),
        ),
    ),
    Library("corner", walks=False, methods=False, trials=(("corner.corner(x)", _SLOW),)),
    # Science.
    Library(
        "rdkit",
        modules=("rdkit.Chem", "rdkit.Geometry"),
        walks=False,
        methods=False,
        only="$",
        things=(
            Thing("Conformer", "Chem.Conformer(4)", "it has a number of atoms"),
            Thing("GetConformer", "Chem.Conformer(4)", "a molecule has it"),
        ),
        trials=(
            ("rdkit.Conformer.SetPositions(q)", "numbers of double precision are asked for"),
            ("rdkit.GetConformer.SetPositions(q)", "numbers of double precision are asked for"),
            ("rdkit.Geometry.Point3D(j, j, j)", "three numbers are asked for"),
        ),
    ),
    Library(
        "ase",
        walks=False,
        methods=False,
        only="set_|translate|rotate|Atoms$",
        things=(Thing("Atoms", "ase.Atoms('H4', positions=c)", "atoms have names"),),
        trials=(
            ("ase.Atoms('H4', positions=c)", _FIT),
            ("ase.Atoms('H4', c)", _FIT),
            ("ase.Atoms(positions=c, numbers=[1, 1, 1, 1])", _FIT),
            ("ase.Atoms(numbers=l, positions=c)", _FIT),
        ),
    ),
    Library(
        "MDAnalysis",
        modules=("MDAnalysis.lib.distances", "MDAnalysis.analysis.rms", "MDAnalysis.analysis.align"),
        walks=False,
        methods=False,
        only="$",
        things=(Thing("Universe", "MDAnalysis.Universe.empty(4, trajectory=True)", _FILE),),
        trials=(
            ("MDAnalysis.lib.distances.distance_array(c, c)", _FIT),
            ("MDAnalysis.lib.distances.self_distance_array(c)", _FIT),
            ("MDAnalysis.lib.distances.calc_bonds(c, c)", _FIT),
            ("MDAnalysis.analysis.rms.rmsd(c, c)", _FIT),
            ("MDAnalysis.analysis.align.rotation_matrix(c, c)", _FIT),
            ("MDAnalysis.Universe.load_new(c)", _FILE),
        ),
    ),
    Library(
        "mne",
        walks=False,
        methods=False,
        only="$",
        extras=(
            ("info", "mne.create_info(4, 100.0, 'eeg')"),
            ("info_of_3", "mne.create_info(3, 100.0, 'eeg')"),
        ),
        once="mne.set_log_level('ERROR')",
        trials=(
            ("mne.io.RawArray(m, info)", "what describes the channels is asked for"),
            ("mne.EpochsArray(o, info_of_3)", "as RawArray"),
            ("mne.EvokedArray(m, info)", "as RawArray"),
            ("mne.filter.filter_data(z, 100, 1, 40)", "double precision is asked for"),
            ("mne.filter.resample(z, 2)", "double precision is asked for"),
        ),
    ),
    Library(
        "obspy",
        walks=False,
        methods=False,
        trials=(
            ("obspy.Trace(t)", _OPTION),
            ("obspy.Trace(data=t)", _OPTION),
        ),
    ),
    Library(
        "astropy",
        modules=(
            "astropy.units",
            "astropy.table",
            "astropy.io.fits",
            "astropy.stats",
            "astropy.coordinates",
            "astropy.convolution",
            "astropy.time",
            "astropy.visualization",
            "astropy.nddata",
        ),
        walks=False,
        methods=False,
        only="sigma_clip|Quantity$|Column$|Table$|QTable$|.*HDU$|biweight|mad_std$|CCDData$",
        trials=(
            ("astropy.units.Quantity(v, 'm')", "a unit is asked for"),
            ("astropy.coordinates.SkyCoord(v, v, unit='deg')", "a unit is asked for"),
            ("astropy.time.Time(v, format='jd')", "a format is asked for"),
            ("astropy.convolution.convolve(g, [[1, 1, 1], [1, 1, 1], [1, 1, 1]])", _FIT),
            ("astropy.table.Table(v)", _DICT),
            ("astropy.table.Column(v)", _OPTION),
            ("astropy.io.fits.PrimaryHDU(m)", _OPTION),
            ("astropy.io.fits.ImageHDU(m)", _OPTION),
            ("astropy.io.fits.writeto(file, m)", _FILE),
            ("astropy.nddata.CCDData(m, unit='adu')", "a unit is asked for"),
            ("astropy.nddata.NDData(m)", _OPTION),
        ),
    ),
    Library(
        "healpy",
        walks=False,
        methods=False,
        trials=(
            ("healpy.ang2pix(8, v, v)", "the size of the map stands first"),
            ("healpy.vec2pix(8, v, v, v)", "the size of the map stands first"),
            ("healpy.pix2ang(8, i)", "the size of the map stands first"),
            ("healpy.pix2vec(8, i)", "the size of the map stands first"),
            ("healpy.ang2vec(v, v)", _FIT),
        ),
    ),
    Library(
        "shapely",
        modules=("shapely.geometry",),
        walks=False,
        methods=False,
        extras=(("shape", "shapely.box(0, 0, 1, 1)"),),
        trials=(
            ("shapely.Polygon(h)", _OPTION),
            ("shapely.LineString(h)", _OPTION),
            ("shapely.LinearRing(h)", _OPTION),
            ("shapely.MultiPoint(h)", _OPTION),
            ("shapely.Point(e)", _OPTION),
            ("shapely.points(h)", _OPTION),
            ("shapely.contains_xy(shape, v, v)", "a shape stands first"),
        ),
    ),
    Library(
        "dask",
        modules=("dask.array",),
        walks=False,
        methods=False,
        only="$",
        trials=(
            ("dask.array.from_array(v)", _FEW),
            ("dask.array.asarray(v)", _FEW),
            ("dask.array.array(v)", _FEW),
            ("dask.array.stack(v)", _FEW),
            ("dask.array.concatenate(v)", _FEW),
        ),
    ),
    Library(
        "sparse",
        walks=False,
        methods=False,
        trials=(
            ("sparse.COO.from_numpy(m)", _OF_CLASS),
            ("sparse.GCXS.from_numpy(m)", _OF_CLASS),
            ("sparse.COO(m)", _OPTION),
        ),
    ),
    Library(
        "osqp",
        walks=False,
        methods=False,
        extras=(("P", _SPARSE), ("A", _SPARSE)),
        things=(
            Thing(
                "OSQP",
                f"[o := osqp.OSQP(), o.setup({_SPARSE}, r, {_SPARSE}, r * 0, r, verbose=False)][0]",
                "a problem is asked for",
            ),
        ),
        trials=(
            ("osqp.OSQP.setup(P=P, q=r, A=A, l=r, u=r, verbose=False)", _FIT),
            ("osqp.OSQP.update(q=r)", _FIT),
        ),
    ),
    Library(
        "hmmlearn",
        modules=("hmmlearn.hmm",),
        walks=False,
        methods=False,
        only="$",
        things=(Thing("GaussianHMM", "hmm.GaussianHMM(2).fit(x)", "it is fitted before it is used"),),
        trials=(("hmmlearn.GaussianHMM.fit(x)", "to fit takes long"),),
    ),
    Library(
        "stumpy",
        walks=False,
        methods=False,
        only="$",
        once="stumpy.stump(z, 8)",
        trials=(("stumpy.stump(z, 8)", "numba compiles it before the first call, which takes a minute"),),
    ),
    Library(
        "ruptures",
        walks=False,
        methods=False,
        only="fit",
        things=(
            Thing("Pelt", "ruptures.Pelt()", "what it gives can be told apart only when it has been fitted"),
            Thing("Binseg", "ruptures.Binseg()", "as Pelt"),
            Thing("Window", "ruptures.Window(10)", "as Pelt"),
            Thing("Dynp", "ruptures.Dynp()", "as Pelt"),
            Thing("KernelCPD", "ruptures.KernelCPD()", "as Pelt"),
            Thing("CostL2", "ruptures.costs.CostL2()", "as Pelt"),
        ),
    ),
    Library(
        "numexpr",
        walks=False,
        methods=False,
        trials=(("numexpr.evaluate('a * 2', v)", "a dict of arrays is asked for"),),
    ),
    Library("bottleneck", "Bottleneck", walks=False, methods=False),
    Library(
        "meshio",
        walks=False,
        methods=False,
        extras=(("cells", "[('triangle', k)]"),),
        trials=(
            ("meshio.Mesh(c, cells)", "cells are asked for"),
            ("meshio.Mesh(c, cells, point_data=r)", _DICT),
        ),
    ),
    Library(
        "laspy",
        walks=False,
        methods=False,
        things=(Thing("create", "laspy.create()", "a function makes it"),),
        trials=(("laspy.create.__setitem__('intensity', i)", _STORE),),
    ),
    Library(
        "jax",
        takes_cuda="numpy.(asarray|array|array_equal)$|dlpack",  # with jaxlib for CUDA: measured on an H200
        modules=("jax.numpy", "jax.dlpack"),
        walks=False,
        methods=False,
        only="$",
        trials=(
            *_by_hand(
                "jax.numpy", "what is jitted takes longer to search", "asarray(v)", "array(v)", "sin(v)", "exp(v)"
            ),
            *_by_hand("jax.numpy", "as asarray", "stack(v)", "concatenate(v)", "mean(v)", "sum(v)", "dot(v, v)"),
            *_by_hand("jax.numpy", "as asarray", "matmul(m, m)", "where(b, v, v)", "abs(v)", "sqrt(v)", "square(v)"),
            *_by_hand(
                "jax.numpy", "as asarray", "max(v)", "min(v)", "argmax(v)", "reshape(v, (2, 3))", "linalg.norm(v)"
            ),
            *_by_hand("jax.numpy", "as asarray", "einsum('i,i', v, v)", "expand_dims(v, 0)", "squeeze(v)", "add(v, v)"),
            *_by_hand(
                "jax.numpy", "as asarray", "multiply(v, v)", "array_equal(v, v)", "allclose(v, v)", "transpose(m)"
            ),
            ("jax.device_put(v)", "as asarray"),
            ("jax.dlpack.from_dlpack(v)", "as asarray"),
            ("jax.nn.softmax(v)", "as asarray"),
            ("jax.nn.relu(v)", "as asarray"),
        ),
        things=(Thing("jit", "jax.jit(lambda a: a * 2)", "what it makes of a function is what is called"),),
    ),
    Library(
        "casadi",
        walks=False,
        methods=False,
        only="$",
        trials=(
            ("casadi.DM(m)", _FEW),
            ("casadi.SX(m)", _FEW),
            ("casadi.MX(m)", _FEW),
            ("casadi.mtimes(m, m)", _FEW),
            ("casadi.vertcat(m, m)", _FEW),
        ),
    ),
    # Pages and pictures.
    Library(
        "rerun",
        "rerun-sdk",
        walks=False,
        methods=False,
        warns="rerun.error_utils.RerunWarning",
        only="[A-Z].*$",
        trials=(
            ("rerun.Points3D(c)", _FEW),
            ("rerun.Image(u)", _FEW),
            ("rerun.Tensor(p)", _FEW),
            ("rerun.DepthImage(g)", _FEW),
            ("rerun.Boxes2D(array=m, array_format='XYXY')", _FIT),
            ("rerun.Scalars(v)", _FEW),
            ("rerun.Points2D(h)", _FEW),
        ),
    ),
    Library(
        "gradio",
        walks=False,
        methods=False,
        only="$",
        things=(Thing("Image", "gradio.Image()", "a page has it"),),
        trials=(
            ("gradio.Image(u)", _FEW),
            ("gradio.Gallery(u)", _FEW),
            ("gradio.Dataframe(m)", _FEW),
            ("gradio.Image.postprocess(u)", "a page calls it"),
            ("gradio.Image.postprocess(p)", "a page calls it"),
            ("gradio.Label(v)", _DICT),
            ("gradio.Slider(value=s)", _FEW),
            ("gradio.JSON(v)", _FEW),
        ),
    ),
    Library(
        "streamlit",
        walks=False,
        methods=False,
        only=_CHARTS,
        trials=(
            ("streamlit.line_chart(v)", _SLOW),
            ("streamlit.bar_chart(v)", _SLOW),
            ("streamlit.area_chart(v)", _SLOW),
            ("streamlit.dataframe(m)", _SLOW),
            ("streamlit.table(m)", _SLOW),
            ("streamlit.image(u)", _SLOW),
            ("streamlit.metric('a', s)", _NAMED),
        ),
    ),
    Library(
        "holoviews",
        walks=False,
        methods=False,
        only="$",
        once="holoviews.extension('matplotlib')",
        trials=(
            *_by_hand("holoviews", _FEW, *(f"{name}(v)" for name in _ELEMENTS[:6])),
            *_by_hand("holoviews", _FEW, *(f"{name}(h)" for name in _ELEMENTS[:8])),
            *_by_hand("holoviews", _FEW, "Image(m)", "RGB(p)", "HeatMap(c)", "Distribution(v)", "Raster(m)"),
            *_by_hand("holoviews", _FEW, "Dataset(h)", "Table(h)"),
        ),
    ),
    Library(
        "vispy",
        modules=("vispy.visuals", "vispy.scene", "vispy.gloo"),
        walks=False,
        methods=False,
        only="$",
        trials=(
            ("vispy.visuals.LineVisual(pos=c)", _FEW),
            ("vispy.gloo.VertexBuffer(c)", _FEW),
            ("vispy.gloo.Texture2D(u)", _FEW),
            ("vispy.visuals.ImageVisual(u)", _FEW),
            ("vispy.visuals.MeshVisual(vertices=c, faces=k)", _FEW),
            ("vispy.color.ColorArray(c)", _FEW),
        ),
    ),
)
