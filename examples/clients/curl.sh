#!/bin/sh
# Searches, mines and highlights with curl and jq. Arguments: the service's address, a phrase.
set -eu
service=$1
phrase=$2
key=${SLICE_OS_API_KEY:-}

# ask PATH BODY: the answer to a request; a stream comes as it is made.
ask() {
  curl --silent --show-error --no-buffer --fail-with-body --retry 3 \
    ${key:+--header "Authorization: Bearer $key"} \
    --header "Content-Type: application/json" --data-binary "$2" "$service/$1"
}

line='"\(.cosine)  \(.doc_id):\(.start)-\(.end)  \(.text)"'

echo "search"
found=$(ask search "$(jq -n --arg phrase "$phrase" '{phrases: $phrase, top_k: 3}')") ||
  { printf '%s\n' "$found" >&2; exit 1; }
printf '%s\n' "$found" | jq -r ".hits[] | $line"

echo "mine"
ask mine "$(jq -n --arg phrase "$phrase" '{phrases: $phrase, threshold: 0.5}')" |
  jq --unbuffered -r "if .hit then .hit | $line elif .error then .error.message | halt_error
    elif .summary then \"\(.summary.hits) hits\" else empty end"

echo "highlights"
id=$(printf '%s\n' "$found" | jq -r '.hits[0].doc_id | @uri')
# jq counts code points, as the service does.
ask "documents/$id/highlights" "$(jq -n --arg phrase "$phrase" '{phrases: $phrase, threshold: 0.5}')" |
  jq -r '.text as $text | reduce (.hits | sort_by(-.start)[]) as $hit
    ($text; .[:$hit.start] + "[" + .[$hit.start:$hit.end] + "]" + .[$hit.end:])'
