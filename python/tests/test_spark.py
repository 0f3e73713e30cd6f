"""Fits to data frames of Spark: the model and the labels of one array, wherever its rows lie."""

from __future__ import annotations

import os
import shutil
import warnings

import numpy as np
import pytest

import lapwing
from test_fit_rows import clouds

pyspark = pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java", allow_module_level=True)

from pyspark.ml import Pipeline, PipelineModel  # noqa: E402
from pyspark.ml.evaluation import MulticlassClassificationEvaluator  # noqa: E402
from pyspark.ml.feature import VectorAssembler  # noqa: E402

from lapwing.spark import LapwingClassifier, LapwingClassifierModel  # noqa: E402

N = 6000


@pytest.fixture(scope="module")
def spark():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder = pyspark.sql.SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
        session = builder.config("spark.sql.shuffle.partitions", "3").config("spark.driver.memory", "1g").getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """A folder of the rows in three files, and what one process says."""
    X, truth, y = clouds()
    clf = lapwing.HarmonicClassifier(fit_rows=800, random_state=0).fit(X, y)
    folder = tmp_path_factory.mktemp("rows")
    columns = {name: X[:, at] for at, name in enumerate("abcde")}
    labels = pa.array([int(label) if label >= 0 else None for label in y], pa.int32())
    table = pa.table(columns | {"kind": labels, "row": pa.array(range(N), pa.int64())})
    for at, (first, end) in enumerate([(0, 2500), (2500, 2500), (2500, 6000)]):
        pq.write_table(table.slice(first, end - first), folder / f"{at}.parquet", row_group_size=900)
    return str(folder), X, truth, clf.predict(X), clf.predict_proba(X)


def in_order(frame):
    """Rows in the order of their numbers."""
    return sorted(frame.collect(), key=lambda row: row["row"])


def read(spark, folder, n_partitions=None):
    frame = spark.read.parquet(folder)
    if n_partitions is None:
        return frame
    # The order of files is not that of rows: these are sorted and persisted.
    return frame.repartitionByRange(n_partitions, "row").sortWithinPartitions("row").persist()


@pytest.mark.parametrize("n_partitions", [1, 4, 7])
def test_any_partitions_give_the_same_bits(spark, expected, n_partitions):
    folder, _, _, labels, shares = expected
    frame = read(spark, folder, n_partitions)
    estimator = lapwing.HarmonicClassifier(fit_rows=800, random_state=0)
    model = LapwingClassifier(estimator=estimator, inputCols=list("abcde"), labelCol="kind").fit(frame)
    labeled = model.transform(frame)
    assert labeled.columns == [*frame.columns, "prediction", "probability"]
    rows = in_order(labeled)
    assert [row["prediction"] for row in rows] == labels.tolist()
    np.testing.assert_array_equal(np.array([row["probability"].toArray() for row in rows]), shares)
    assert model.classifier.report_["n_samples"] == N and not hasattr(estimator, "classes_")
    frame.unpersist()


def test_a_pipeline_is_saved_and_loaded(spark, expected, tmp_path):
    folder, _, truth, labels, _ = expected
    frame = read(spark, folder, 3)
    names = frame.withColumn("kind", frame["kind"].cast("string"))
    estimator = lapwing.HarmonicClassifier(fit_rows=800, random_state=0)
    stages = [VectorAssembler(inputCols=list("abcde"), outputCol="features")]
    stages.append(LapwingClassifier(estimator=estimator, labelCol="kind", predictionCol="found"))
    pipeline = Pipeline(stages=stages)
    pipeline.write().overwrite().save(str(tmp_path / "pipeline"))
    model = Pipeline.load(str(tmp_path / "pipeline")).fit(names)
    assert model.stages[1].classifier.fit_rows == 800
    model.write().overwrite().save(str(tmp_path / "model"))
    loaded = PipelineModel.load(str(tmp_path / "model"))
    assert isinstance(loaded.stages[1], LapwingClassifierModel)
    for kept in (model, loaded):
        rows = in_order(kept.transform(frame))
        assert [row["found"] for row in rows] == [str(label) for label in labels]
    frame.unpersist()


def test_labels_are_measured_by_an_evaluator(spark, expected):
    folder, _, truth, _, _ = expected
    frame = read(spark, folder)
    doubles = frame.withColumn("kind", frame["kind"].cast("double"))
    model = LapwingClassifier(
        estimator=lapwing.AutoLabeler(fit_rows=800, random_state=0), inputCols=list("abcde"), labelCol="kind"
    ).fit(doubles)
    known = model.transform(doubles).where("kind is not null")
    evaluator = MulticlassClassificationEvaluator(labelCol="kind", metricName="accuracy")
    assert evaluator.evaluate(known) > 0.95


def test_a_worker_that_is_killed_changes_nothing(spark, expected, tmp_path):
    folder, _, _, labels, _ = expected
    frame = read(spark, folder, 4)
    marker = str(tmp_path / "died")

    def dying(batches):
        for batch in batches:
            if not os.path.exists(marker):
                with open(marker, "w"):
                    pass
                os._exit(1)
            yield batch

    fragile = frame.mapInArrow(dying, frame.schema)
    estimator = lapwing.HarmonicClassifier(fit_rows=800, random_state=0)
    model = LapwingClassifier(estimator=estimator, inputCols=list("abcde"), labelCol="kind").fit(fragile)
    assert os.path.exists(marker)
    assert [row["prediction"] for row in in_order(model.transform(frame))] == labels.tolist()
    frame.unpersist()


def test_what_is_wrong_is_named(spark, expected):
    folder, *_ = expected
    frame = read(spark, folder)
    estimator = lapwing.HarmonicClassifier(fit_rows=800, random_state=0)
    with pytest.raises(ValueError, match="no column 'features'"):
        LapwingClassifier(estimator=estimator, labelCol="kind").fit(frame)
    with pytest.raises(ValueError, match="inputCols names 'z'"):
        LapwingClassifier(estimator=estimator, inputCols=["a", "z"], labelCol="kind").fit(frame)
    with pytest.raises(ValueError, match="no column 'label'"):
        LapwingClassifier(estimator=estimator, inputCols=["a", "b"]).fit(frame)
    texts = frame.withColumn("b", frame["b"].cast("string"))
    with pytest.raises(Exception, match="expected numbers"):
        LapwingClassifier(estimator=estimator, inputCols=["a", "b"], labelCol="kind").fit(texts)
    holes = frame.withColumn("b", pyspark.sql.functions.expr("case when row = 4000 then null else b end"))
    with pytest.raises(Exception, match="column 1; expected finite numbers"):
        LapwingClassifier(estimator=estimator, inputCols=["a", "b"], labelCol="kind").fit(holes)
