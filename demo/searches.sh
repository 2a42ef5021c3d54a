# What `make demo` asks the store of the demo documents.
set -eu

search() {
    printf '\n$ slice-os search "%s" --store demo.slice -k 3\n\n' "$1"
    slice-os search "$1" --store demo.slice -k 3 --text
}

search "the contract renews by itself each year"
search "either party may end this agreement at any time"
search "my phone screen is broken"
search "someone used my card without permission"

cat <<'END'
The marked span says the phrase in other words; its cosine tells how closely.
Try next:

  . .venv/bin/activate
  slice-os search "I want to cancel my subscription" --store demo.slice
  slice-os search "neither party pays for indirect damages" --store demo.slice
  slice-os search "it does not work" --store demo.slice --filter domain=software --json
  slice-os mine -p "my card was stolen" --threshold 0.75 --store demo.slice
  slice-os ingest YOUR/FILES --store yours.slice

Or search them in a browser:

  pip install --constraint requirements.lock '.[serve]'
  slice-os serve demo.slice --open
END
