#!/usr/bin/env bash
# install.sh {install | uninstall} PREFIX NAME: puts crun, its man pages and
# its completions under PREFIX, or takes them away again.
#
# crun is also the name of an OCI runtime, which podman and CRI-O look for in
# fixed folders. A crun of ours there would be started as their runtime.
set -euo pipefail
cd "$(dirname "$0")/../.."

action=$1 prefix=$2 name=$3

[[ $name =~ ^[a-z][a-z0-9._-]*$ ]] ||
  { echo "make install: NAME=$name is not a command name (a-z, 0-9, . _ -)" >&2; exit 1; }

# Where podman and CRI-O look for a runtime that is called crun
# (containers.conf(5), crio.conf(5)).
runtime_folders="/usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /bin /sbin /run/current-system/sw/bin"

refuse_runtime_place() {
  [ "$name" = crun ] || return 0
  local folder found=""
  for folder in $runtime_folders; do
    [ "$(realpath -m "$prefix/bin")" = "$(realpath -m "$folder")" ] && found=yes
  done
  [ -n "$found" ] || return 0
  local tool
  for tool in podman crio; do
    if command -v "$tool" >/dev/null; then
      cat >&2 <<EOT
make install: $tool is on this machine and takes $prefix/bin/crun for its OCI runtime of the same name.
Nothing was installed. Give ours another name or another place:
  make install NAME=crun-train
  make install PREFIX=/opt/crun
EOT
      exit 1
    fi
  done
}

case $action in
install)
  refuse_runtime_place
  if [ -e "$prefix/bin/$name" ] && ! "$prefix/bin/$name" version 2>/dev/null | grep -q "^crun .* go"; then
    echo "make install: $prefix/bin/$name is another program (the OCI runtime?); choose a NAME= or a PREFIX= of your own" >&2
    exit 1
  fi
  install -D -m 0755 bin/crun "$prefix/bin/.$name.new"
  mv "$prefix/bin/.$name.new" "$prefix/bin/$name" # running crun processes keep theirs
  for page in docs/man/*.1; do
    install -D -m 0644 "$page" "$prefix/share/man/man1/${name}${page#docs/man/crun}"
  done
  # The completions call the command by its name.
  install -d "$prefix/share/bash-completion/completions" "$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d"
  "$prefix/bin/$name" completion bash >"$prefix/share/bash-completion/completions/$name"
  "$prefix/bin/$name" completion zsh >"$prefix/share/zsh/site-functions/_$name"
  "$prefix/bin/$name" completion fish >"$prefix/share/fish/vendor_completions.d/$name.fish"
  echo "installed $prefix/bin/$name, its man pages and its completions"
  case ":$PATH:" in *":$prefix/bin:"*) ;; *) echo "add it to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;; esac
  ;;
uninstall)
  rm -f "$prefix/bin/$name" "$prefix"/share/man/man1/"$name".1 "$prefix"/share/man/man1/"$name"-*.1 \
    "$prefix/share/bash-completion/completions/$name" "$prefix/share/zsh/site-functions/_$name" \
    "$prefix/share/fish/vendor_completions.d/$name.fish"
  echo "removed $prefix/bin/$name, its man pages and its completions"
  ;;
*)
  echo "usage: install.sh {install | uninstall} PREFIX NAME" >&2
  exit 2
  ;;
esac
