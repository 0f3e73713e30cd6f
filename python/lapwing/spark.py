"""A classifier for Spark's pipelines: rows that lie in the partitions of a data frame, on one machine or many.

:class:`LapwingClassifier` fits a classifier of ``lapwing`` to a sample: each partition tells its labels, the rows that are drawn, and others
that join them; the driver fits. :class:`LapwingClassifierModel` labels each partition where it lies. Both pass rows as Arrow batches
(``mapInArrow``) and need no Spark context, so that Spark Connect serves too. Model and labels are those of ``lapwing`` on the same rows in
one array with the same `fit_rows`, bit for bit.

Rows are numbered partition by partition: a data frame whose partitions have other rows at each reading, such as one behind a shuffle, must be
persisted first.

``pip install lapwing[spark]`` brings Spark; workers need ``lapwing`` too.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext, keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector, vector_to_array
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasInputCols,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
)
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import functions
from pyspark.sql.types import ArrayType, BinaryType, DoubleType, IntegerType, LongType, StringType, StructField, StructType
from sklearn.base import clone

import lapwing
from lapwing import baselines

from ._classifier import SpreadingClassifier
from ._parts import Shared, Told, Visit, fit_parts

__all__ = ["LapwingClassifier", "LapwingClassifierModel"]

#: The column of features that partitions are given, and that of labels.
_FEATURES, _LABEL = "__lapwing_features", "__lapwing_label"
#: Results of partitions that are joined at a time.
_JOINED = 8
#: Bytes of a model that are written at a time: Spark limits what it sends to a task.
_PIECE = 1 << 24


def _numbers(column: Any) -> Any:
    """A column of a batch as an array of numbers."""
    if pa.types.is_decimal(column.type) or pa.types.is_boolean(column.type):
        column = column.cast(pa.float64())
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise ValueError(f"a column of features holds {column.type}; expected numbers: encode it first, as by StringIndexer and OneHotEncoder")
    return column.to_numpy(zero_copy_only=False)


def _features(batch: Any, names: list[str] | None) -> Any:
    """The features of a batch: named columns, or one of arrays."""
    if names is not None:
        columns = [_numbers(batch.column(name)) for name in names]
        dtype = np.float32 if all(column.dtype == np.float32 for column in columns) else np.float64
        return np.stack(columns, axis=1).astype(dtype)
    arrays = batch.column(_FEATURES)
    if len(arrays) == 0:
        return np.zeros((0, 0))
    lengths = np.unique(arrays.value_lengths().to_numpy(zero_copy_only=False))
    if arrays.null_count or len(lengths) != 1:
        raise ValueError("the column of features has a missing cell, or arrays of different lengths; expected as many numbers in each row")
    return _numbers(arrays.flatten()).reshape(len(arrays), int(lengths[0]))


class _Partitions:
    """The partitions of a data frame."""

    def __init__(self, frame: Any, names: list[str] | None) -> None:
        self.frame, self.names = frame, names
        self.starts: dict[int, int] | None = None
        self.sizes: dict[int, int] = {}

    def _asked(self, asked: Any, shared: Any, finish: Callable[[Any, list[Any]], list[Any]]) -> Any:
        """A data frame of what the partitions answer: number, rows, and the answers to their batches (value, first row, batch)."""
        sent, starts = Shared(shared), self.starts

        def run(batches: Iterator[Any]) -> Iterator[Any]:
            part = TaskContext.get().partitionId()
            begin = first = 0 if starts is None else starts.get(part, 0)
            answers = []
            for batch in batches:
                if len(batch):
                    answers.append(asked(sent.value, first, batch))
                    first += len(batch)
            packed = pickle.dumps(finish(sent.value, answers))
            yield pa.RecordBatch.from_arrays(
                [pa.array([part], pa.int32()), pa.array([first - begin], pa.int64()), pa.array([packed], pa.binary())],
                ["part", "n_rows", "answers"],
            )

        fields = [("part", IntegerType()), ("n_rows", LongType()), ("answers", BinaryType())]
        return self.frame.mapInArrow(run, StructType([StructField(name, kind) for name, kind in fields]))

    def _check(self, found: list[Any]) -> None:
        """Keep the sizes of the partitions, or compare them."""
        sizes = {row["part"]: row["n_rows"] for row in found}
        if self.starts is None:
            parts = sorted(sizes)
            self.starts = dict(zip(parts, np.cumsum([0, *(sizes[part] for part in parts)]).tolist()[:-1], strict=True))
            self.sizes = sizes
        elif sizes != self.sizes:
            raise ValueError("the partitions had other rows at the second reading; persist() the data frame, so that they stay")

    def told(self, tell: Callable[[Any, Any], Told], unlabeled: Any) -> list[Told]:
        return self._answers(lambda value, _, batch: tell(value, batch.column(_LABEL)), unlabeled)

    def visit(self, asked: Visit, shared: Any) -> list[Any]:
        return self._answers(self._of_features(asked), shared)

    def _of_features(self, asked: Visit) -> Any:
        names = self.names
        return lambda value, first, batch: asked(value, first, _features(batch, names))

    def _answers(self, asked: Any, shared: Any) -> list[Any]:
        found = self._asked(asked, shared, lambda _, answers: answers).collect()
        self._check(found)
        return [answer for row in sorted(found, key=lambda row: row["part"]) for answer in pickle.loads(row["answers"])]

    def joined(self, asked: Visit, shared: Any, join: Callable[[Any, list[bytes]], bytes]) -> bytes:
        sent = Shared(shared)
        answers = self._asked(self._of_features(asked), shared, lambda value, found: [join(value, found)])

        def run(batches: Iterator[Any]) -> Iterator[Any]:
            rows = [row for batch in batches for row in batch.to_pylist()]
            found = [part for row in rows for part in pickle.loads(row["answers"])]
            sizes = [(row["part"], row["n_rows"]) for row in rows]
            if found:
                yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps((sizes, join(sent.value, found)))], pa.binary())], ["joined"])

        n_joined = max(1, len(self.sizes) // _JOINED)
        rows = answers.repartition(n_joined).mapInArrow(run, "joined binary").collect()
        parts = [pickle.loads(row["joined"]) for row in rows]
        self._check([{"part": part, "n_rows": n_rows} for sizes, _ in parts for part, n_rows in sizes])
        return join(shared, [found for _, found in parts])


class _Stage(HasFeaturesCol, HasInputCols, HasLabelCol, HasPredictionCol, HasProbabilityCol, MLReadable, MLWritable):  # type: ignore[misc]
    """The columns of the estimator and of its model, and their files."""

    def write(self) -> MLWriter:
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        return _Reader(cls)

    def _prepared(self, dataset: Any) -> tuple[Any, list[str] | None]:
        """The data frame with a column of features, and the names of the columns that are features instead."""
        if self.isSet("inputCols"):
            names = list(self.getInputCols())
            missing = [name for name in names if name not in dataset.columns]
            if missing:
                raise ValueError(f"inputCols names {missing[0]!r}, which is no column; expected some of {dataset.columns}")
            return dataset, names
        name = self.getFeaturesCol()
        if name not in dataset.columns:
            raise ValueError(f"there is no column {name!r}; set featuresCol to one of vectors or arrays, or inputCols to columns of numbers")
        column = functions.col(f"`{name}`")
        is_array = isinstance(dataset.schema[name].dataType, ArrayType)
        return dataset.withColumn(_FEATURES, column if is_array else vector_to_array(column)), None


class LapwingClassifier(Estimator, _Stage):  # type: ignore[misc]
    """Estimator of Spark that fits a classifier of ``lapwing`` to a sample of the rows of a data frame.

    Parameters
    ----------
    estimator : classifier of ``lapwing`` or ``lapwing.baselines``, default=AutoLabeler()
        What is fitted. Its `fit_rows` is about the number of rows of the sample, 300,000 for None; its `unlabeled` says what marks rows
        without a label, beside missing cells.
    featuresCol : str, default="features"
        Column of vectors or arrays of numbers.
    inputCols : list of str, default=None
        Columns of numbers, instead of that one.
    labelCol : str, default="label"
        Column of labels, missing in rows that have none.
    predictionCol, probabilityCol : str, default="prediction", "probability"
        Columns that the model adds: a label of the kind of the given ones, and a vector of the shares of the classes.

    Notes
    -----
    Rows are read three times. A worker needs the memory of the sample (4·`fit_rows`·columns bytes, and its index) and of a batch.
    """

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(
        self,
        *,
        estimator: SpreadingClassifier | None = None,
        featuresCol: str = "features",
        inputCols: list[str] | None = None,
        labelCol: str = "label",
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
    ) -> None:
        super().__init__()
        self.estimator = lapwing.AutoLabeler() if estimator is None else estimator
        given = {"featuresCol": featuresCol, "labelCol": labelCol, "predictionCol": predictionCol, "probabilityCol": probabilityCol}
        self._set(**given, **({} if inputCols is None else {"inputCols": inputCols}))

    def copy(self, extra: Any = None) -> LapwingClassifier:
        other: LapwingClassifier = super().copy(extra)
        other.estimator = self.estimator
        return other

    def _fit(self, dataset: Any) -> LapwingClassifierModel:
        frame, names = self._prepared(dataset)
        label = self.getLabelCol()
        if label not in dataset.columns:
            raise ValueError(f"there is no column {label!r}; set labelCol to the one of labels, missing in rows that have none")
        fitted: SpreadingClassifier = clone(self.estimator)
        columns = [functions.col(f"`{name}`") for name in names or [_FEATURES]]
        own = frame.select(*columns, functions.col(f"`{label}`").alias(_LABEL))
        fit_parts(fitted, _Partitions(own, names))
        model = LapwingClassifierModel(fitted, dataset.schema[label].dataType.simpleString())
        self._copyValues(model)
        return model

    def _stored(self) -> tuple[dict[str, Any], bytes]:
        return {"estimator": type(self.estimator).__name__, "parameters": self.estimator.get_params(deep=False)}, b""

    @classmethod
    def _restored(cls, stored: dict[str, Any], packed: bytes) -> LapwingClassifier:
        kind = getattr(lapwing, stored["estimator"], None) or getattr(baselines, stored["estimator"])
        return cls(estimator=kind(**stored["parameters"]))


class LapwingClassifierModel(Model, _Stage):  # type: ignore[misc]
    """What :class:`LapwingClassifier` fits: adds a column of labels and one of shares to a data frame.

    Attributes
    ----------
    classifier : classifier of ``lapwing``
        The fitted classifier, with its `report_` and `expected_accuracy_`; without them if the model was loaded.
    """

    def __init__(self, classifier: SpreadingClassifier | None = None, label_type: str = "string") -> None:
        super().__init__()
        self.classifier, self.label_type = classifier, label_type

    def copy(self, extra: Any = None) -> LapwingClassifierModel:
        other: LapwingClassifierModel = super().copy(extra)
        other.classifier, other.label_type = self.classifier, self.label_type
        return other

    def _transform(self, dataset: Any) -> Any:
        frame, names = self._prepared(dataset)
        prediction, probability = self.getPredictionCol(), self.getProbabilityCol()
        model: Any = pickle.loads(pickle.dumps(self.classifier))
        model.n_jobs, model.verbose, model.callback = model.n_jobs or 1, 0, None
        # Batches become arrays, which have no names.
        vars(model).pop("feature_names_in_", None)
        sent, width = Shared(model), len(model.classes_)
        kind = StructType.fromDDL(f"label {self.label_type}")[0].dataType
        kept = [field for field in frame.schema.fields if field.name != _FEATURES]
        schema = StructType([*kept, StructField(prediction, kind), StructField(probability, ArrayType(DoubleType()))])
        is_text = isinstance(kind, StringType)

        def run(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                own = [batch.column(field.name) for field in kept]
                labels, shares = np.empty(0), np.empty((0, width))
                if len(batch):
                    rows, model = _features(batch, names), sent.value
                    labeling = model._apply(rows)
                    labels, shares = model._decode(labeling), labeling["label_distributions"]
                told = labels.tolist()
                arrow = pa.array([None if label is None or label != label else str(label) for label in told] if is_text else told)
                of_rows = pa.FixedSizeListArray.from_arrays(pa.array(shares.ravel()), width).cast(pa.list_(pa.float64()))
                fields = [*(field.name for field in kept), prediction, probability]
                yield pa.RecordBatch.from_arrays([*own, arrow.cast(_ARROW.get(kind.simpleString(), pa.string())), of_rows], fields)

        labeled = frame.mapInArrow(run, schema)
        return labeled.withColumn(probability, array_to_vector(functions.col(f"`{probability}`")))

    def _stored(self) -> tuple[dict[str, Any], bytes]:
        with tempfile.TemporaryDirectory(prefix="lapwing-") as folder:
            path = Path(folder, "model")
            lapwing.save_model(self.classifier, path)
            return {"label_type": self.label_type}, path.read_bytes()

    @classmethod
    def _restored(cls, stored: dict[str, Any], packed: bytes) -> LapwingClassifierModel:
        with tempfile.TemporaryDirectory(prefix="lapwing-") as folder:
            path = Path(folder, "model")
            path.write_bytes(packed)
            return cls(lapwing.load_model(path), stored["label_type"])


#: Types of labels, as Spark and Arrow name them.
_ARROW = {"tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(), "float": pa.float32(), "double": pa.float64()}
_ARROW |= {"string": pa.string(), "boolean": pa.bool_()}


class _Writer(MLWriter):  # type: ignore[misc]
    """Writes parameters, and what else a stage holds, beside each other in a folder of Spark's."""

    def __init__(self, stage: Any) -> None:
        super().__init__()
        self.stage = stage

    def saveImpl(self, path: str) -> None:
        stored, packed = self.stage._stored()
        DefaultParamsWriter.saveMetadata(self.stage, path, self.sparkSession, extraMetadata={"lapwing": stored})
        for part, first in enumerate(range(0, len(packed), _PIECE)):
            piece = self.sparkSession.createDataFrame([(part, bytearray(packed[first : first + _PIECE]))], "part int, bytes binary")
            piece.write.mode("append").parquet(f"{path}/model")


class _Reader(MLReader):  # type: ignore[misc]
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        packed = b""
        if self.kind is LapwingClassifierModel:
            pieces = self.sparkSession.read.parquet(f"{path}/model").orderBy("part").collect()
            packed = b"".join(piece["bytes"] for piece in pieces)
        stage = self.kind._restored(metadata["lapwing"], packed)
        stage._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(stage, metadata)
        return stage
