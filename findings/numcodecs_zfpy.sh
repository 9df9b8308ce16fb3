#!/bin/sh
# numcodecs 0.16.6 with zfpy 1.0.1.post0 and NumPy 2.4.6, Python 3.11; seen on 2026-11-27.
#
# Guess: zfpy is optional to numcodecs (its extra "zfpy" asks for it). With it installed, `import numcodecs` works and
#   offers one codec more; at worst the codec is missing, since numcodecs leaves out what cannot be imported.
# Behaviour: with the newest zfpy installed, `import numcodecs` itself raises ValueError. numcodecs/zfpy.py makes
#   integers of all parts of zfpy's version, and "1.0.1.post0" has a part that is none. Without zfpy the import works.
#
# Output seen:
#   without zfpy: imported
#   with zfpy: ValueError: invalid literal for int() with base 10: 'post0'
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3.11 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile --disable-pip-version-check numpy==2.4.6 numcodecs==0.16.6

cat > "$folder/import_it.py" <<'EOF'
try:
    import numcodecs
except Exception as error:
    print(f"{type(error).__name__}: {error}")
else:
    print("imported")
EOF

without=$("$folder/venv/bin/python" "$folder/import_it.py")
"$folder/venv/bin/pip" install -q --no-compile --disable-pip-version-check zfpy==1.0.1.post0
with=$("$folder/venv/bin/python" "$folder/import_it.py")

echo "without zfpy: $without"
echo "with zfpy: $with"
[ "$without" = "imported" ] || exit 1
[ "$with" = "ValueError: invalid literal for int() with base 10: 'post0'" ] || exit 1
