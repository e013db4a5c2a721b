"""pawl images against a real OCI registry (Debian's docker-registry) with bearer tokens and with htpasswd, a proxy that pages, storms and cuts, and OCI layouts."""
import base64
import contextlib
import gzip
import hashlib
import http.server
import io
import json
import shutil
import subprocess
import tarfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from pawl_e2e import ENV, free_port, prove, run, run_json, scratch, wait_for, get

USER, SECRET = "ann", "correct horse"
REPO = "eng/sglang"
TAGS = ["v0.5.17-cu130", "v0.5.18-cu130", "v0.5.19-cu130", "v0.5.19", "v0.5.20-cu129", "latest", "nightly-" + "a" * 40]


# ── images ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def layer(files):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(raw.getvalue(), mtime=0)


def write_layout(folder, images):
    """images: {tag: (labels, [files of each layer])}; amd64 and arm64 of each."""
    blobs = folder / "blobs/sha256"
    blobs.mkdir(parents=True)

    def keep(data):
        (blobs / digest_of(data)[7:]).write_bytes(data)
        return {"digest": digest_of(data), "size": len(data)}

    index = []
    for tag, (labels, layers) in images.items():
        platforms = []
        for architecture in ("amd64", "arm64"):
            packed = [layer(files) for files in layers]
            config = {"os": "linux", "architecture": architecture, "created": "2026-09-30T12:00:00Z", "config": {"Labels": labels, "Env": ["ENGINE=sglang"]},
                      "history": [{"created_by": "COPY engine /"}], "rootfs": {"type": "layers", "diff_ids": [digest_of(gzip.decompress(p)) for p in packed]}}
            manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **keep(json.dumps(config).encode())},
                        "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", **keep(p)} for p in packed]}
            platforms.append({"mediaType": manifest["mediaType"], **keep(json.dumps(manifest).encode()), "platform": {"os": "linux", "architecture": architecture}})
        whole = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": platforms}).encode()
        index.append({"mediaType": "application/vnd.oci.image.index.v1+json", **keep(whole), "annotations": {"org.opencontainers.image.ref.name": tag}})
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": index}))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')


def metadata(name, version):
    return f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n\n"


def engine(version, torch):
    site = "usr/lib/python3/dist-packages"
    labels = {"org.opencontainers.image.revision": hashlib.sha1(version.encode()).hexdigest(), "org.opencontainers.image.version": version}
    return labels, [{f"{site}/torch-{torch}.dist-info/METADATA": metadata("torch", torch)}, {f"{site}/sglang-{version}.dist-info/METADATA": metadata("sglang", version)}]


# ── servers ─────────────────────────────────────────────────────────────────────────────────────────────────────────
class Quiet(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", fields=()):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextlib.contextmanager
def serving(handler, port):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token_server(folder):
    """The bearer flow of ghcr and Docker Hub: anybody may pull eng/…, the account may also push, and pull private/…."""
    key, cert = folder / "k.pem", folder / "c.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=iss", "-keyout", key, "-out", cert], check=True, capture_output=True)
    der = base64.b64encode(subprocess.run(["openssl", "x509", "-in", cert, "-outform", "DER"], check=True, capture_output=True).stdout).decode()
    basic = "Basic " + base64.b64encode(f"{USER}:{SECRET}".encode()).decode()

    class Tokens(Quiet):
        asked = 0

        def do_GET(self):
            Tokens.asked += 1
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
            account = self.headers.get("Authorization")
            if account is not None and account != basic:
                return self.answer(401)
            access = []
            for scope in query.get("scope", []):
                kind, name, actions = scope.rsplit(":", 2) if scope.count(":") == 2 else ("", "", "")
                allowed = [a for a in actions.split(",") if account or (a == "pull" and not name.startswith("private/"))]
                access.append({"type": kind, "name": name, "actions": allowed})
            now = int(time.time())
            head = b64url(json.dumps({"typ": "JWT", "alg": "RS256", "x5c": [der]}).encode())
            claims = b64url(json.dumps({"iss": "iss", "sub": "", "aud": "reg", "exp": now + 60, "nbf": now - 5, "iat": now, "jti": str(now), "access": access}).encode())
            signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", key], input=f"{head}.{claims}".encode(), check=True, capture_output=True).stdout
            self.answer(200, json.dumps({"token": f"{head}.{claims}.{b64url(signature)}", "expires_in": 60}).encode())

    return Tokens, cert


@contextlib.contextmanager
def registry(folder, auth):
    port = free_port()
    config = folder / f"reg-{port}.yml"
    config.write_text(f"version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\nstorage: {{filesystem: {{rootdirectory: {folder}/data-{port}}}}}\n"
                      f"http: {{addr: '127.0.0.1:{port}'}}\nauth: {json.dumps(auth)}\n")
    process = subprocess.Popen(["docker-registry", "serve", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for("the registry", lambda: get(f"http://127.0.0.1:{port}/v2/")[0])
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def paging_proxy(origin, mode):
    """docker-registry does not page: this pages its answer two tags at a time, and misbehaves as `mode` says."""

    class Proxy(Quiet):
        asked = []
        busy = 0

        def do_HEAD(self):
            self.do_GET()

        def do_GET(self):
            Proxy.asked.append(self.path)
            if mode["storm"] > Proxy.busy:
                Proxy.busy += 1
                return self.answer(429 if Proxy.busy % 2 else 503, b"", [("Retry-After", "0")])
            request = urllib.request.Request(f"http://{origin}{self.path.split('?')[0] if '/tags/list' in self.path else self.path}", method=self.command,
                                             headers={k: v for k, v in self.headers.items() if k in ("Authorization", "Accept")})
            try:
                with urllib.request.urlopen(request) as reply:
                    status, fields, body = reply.status, reply.headers, reply.read()
            except urllib.error.HTTPError as error:
                status, fields, body = error.code, error.headers, error.read()
            keep = [(k, v) for k, v in fields.items() if k.lower() in ("www-authenticate", "docker-content-digest", "content-type")]
            if status == 200 and "/tags/list" in self.path:
                tags = sorted(json.loads(body)["tags"])
                at = int(urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("at", ["0"])[0])
                body = json.dumps({"name": REPO, "tags": tags[at:at + 2]}).encode()
                if at + 2 < len(tags):
                    keep.append(("Link", f"</v2/{REPO}/tags/list?at={at + 2}>; rel=\"next\""))
                if mode["cut"] and at == 2:
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body[:10])
                    self.close_connection = True
                    return None
            return self.answer(status, body, keep)

    return Proxy


def skopeo(*args):
    done = subprocess.run(["skopeo", "--insecure-policy", *map(str, args)], capture_output=True, text=True, env=ENV)
    assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def world():
    """A registry with bearer tokens that holds the images, the account file that may read it all."""
    with scratch() as folder:
        pawl = folder / "pawl"
        layout = folder / "layout"
        images = {tag: engine(tag.split("-")[0].lstrip("v"), "2.9.1" if "17" in tag or "18" in tag else "2.11.0") for tag in TAGS}
        images["latest"] = images["v0.5.19"] = images["v0.5.19-cu130"]
        write_layout(layout, images)
        handler, cert = token_server(folder)
        tokens = free_port()
        auth = {"token": {"realm": f"http://127.0.0.1:{tokens}/token", "service": "reg", "issuer": "iss", "rootcertbundle": str(cert)}}
        with serving(handler, tokens), registry(folder, auth) as host:
            for tag in TAGS:
                skopeo("copy", "--all", "--dest-tls-verify=false", "--dest-creds", f"{USER}:{SECRET}", f"oci:{layout}:{tag}", f"docker://{host}/{REPO}:{tag}")
            skopeo("copy", "--all", "--dest-tls-verify=false", "--dest-creds", f"{USER}:{SECRET}", f"oci:{layout}:v0.5.19", f"docker://{host}/private/engine:v0.5.19")
            accounts = folder / "auth.json"
            accounts.write_text(json.dumps({"auths": {host: {"auth": base64.b64encode(f"{USER}:{SECRET}".encode()).decode()}}}))
            yield pawl, host, layout, accounts, folder


WORLD = {}


def discovery_and_order():
    pawl, host = WORLD["pawl"], WORLD["host"]
    listed = run_json(pawl, "images", "list", f"{host}/{REPO}", "--digests", schema="pawl.image-tags/1")
    assert sorted(t["tag"] for t in listed["tags"]) == sorted(TAGS)
    latest = next(t for t in listed["tags"] if t["tag"] == "latest")
    assert sorted(latest["same_image_as"]) == ["v0.5.19", "v0.5.19-cu130"], latest
    newest = run_json(pawl, "images", "latest", f"{host}/{REPO}:v0.5.17-cu130", schema="pawl.image-latest/1")
    assert newest["newest"] == "v0.5.19-cu130" and newest["mention"] == ["v0.5.20-cu129", "v0.5.19"], newest
    assert newest["digest"].startswith("sha256:") and newest["digest"] != newest["current_digest"]
    run(pawl, "images", "latest", f"{host}/{REPO}:v0.5.17-cu130", "--check", status=1)
    run(pawl, "images", "latest", f"{host}/{REPO}:v0.5.19-cu130", "--check")
    text = run(pawl, "images", "explain", f"{host}/{REPO}:v0.5.18-cu130").stdout
    for part in ("other-variant", "floating", "older than the pin", "no order between them"):
        assert part in text, text
    gone = run_json(pawl, "images", "latest", f"{host}/{REPO}:v0.5.16-cu130")
    assert any("gone from the registry" in w for w in gone["warnings"]), gone


def facts_without_running():
    pawl, host, layout = WORLD["pawl"], WORLD["host"], WORLD["layout"]
    for name in (f"{host}/{REPO}", f"oci:{layout}"):
        seen = run_json(pawl, "images", "inspect", f"{name}:v0.5.19-cu130", "--packages", "--against", f"{name}:v0.5.18-cu130", schema="pawl.image-inspection/1")
        assert [p["platform"] for p in seen["platforms"]] == ["linux/amd64", "linux/arm64"] and seen["anonymous"] and seen["missing_blobs"] == []
        assert seen["platforms"][0]["labels"]["org.opencontainers.image.version"] == "0.5.19"
        assert seen["platforms"][0]["environment"] == {"ENGINE": "sglang"} and seen["platforms"][0]["history"] == ["COPY engine /"]
        assert {(p["name"], p["version"], p["read_from"].split(":")[0]) for p in seen["packages"]} == {("sglang", "0.5.19", "layer 2"), ("torch", "2.11.0", "layer 1")}
        assert {(p["name"], p["before"], p["after"]) for p in seen["against"]["packages"]} == {("sglang", "0.5.18", "0.5.19"), ("torch", "2.9.1", "2.11.0")}
    run(pawl, "images", "inspect", f"{host}/{REPO}:v0.5.19", "--platform", "linux/riscv64", status=1)
    # A layer that is not there yet: the digest is visible, the image is not usable.
    broken = WORLD["folder"] / "broken"
    shutil.copytree(layout, broken)
    seen = run_json(pawl, "images", "inspect", f"oci:{broken}:v0.5.17-cu130")
    (broken / "blobs/sha256" / seen["platforms"][0]["layer_digests"][1][7:]).unlink()
    assert len(run_json(pawl, "images", "inspect", f"oci:{broken}:v0.5.17-cu130", status=1)["missing_blobs"]) == 1


def accounts_and_strangers():
    pawl, host, accounts = WORLD["pawl"], WORLD["host"], WORLD["accounts"]
    stranger = run(pawl, "images", "list", f"{host}/private/engine", status=5)
    assert "--auth" in stranger.stderr, stranger.stderr
    own = run_json(pawl, "images", "inspect", f"{host}/private/engine:v0.5.19", "--auth", accounts)
    assert own["anonymous"] is False
    wrong = WORLD["folder"] / "wrong.json"
    wrong.write_text(json.dumps({"auths": {host: {"auth": base64.b64encode(b"ann:hunter2").decode()}}}))
    refused = run(pawl, "images", "list", f"{host}/private/engine", "--auth", wrong, status=5)
    assert "hunter2" not in refused.stderr + refused.stdout and "refused the account" in refused.stderr, refused.stderr
    missing = run(pawl, "images", "list", f"{host}/eng/nothing", status=5)
    assert "does not exist" in missing.stderr


def htpasswd_registry():
    folder, layout = WORLD["folder"], WORLD["layout"]
    passwords = folder / "htpasswd"
    passwords.write_text(subprocess.run(["htpasswd", "-Bbn", USER, SECRET], check=True, capture_output=True, text=True).stdout)
    with registry(folder, {"htpasswd": {"realm": "test", "path": str(passwords)}}) as host:
        skopeo("copy", "--all", "--dest-tls-verify=false", "--dest-creds", f"{USER}:{SECRET}", f"oci:{layout}:v0.5.19", f"docker://{host}/{REPO}:v0.5.19")
        accounts = folder / "basic.json"
        accounts.write_text(json.dumps({"auths": {host: {"auth": base64.b64encode(f"{USER}:{SECRET}".encode()).decode()}}}))
        assert [t["tag"] for t in run_json(WORLD["pawl"], "images", "list", f"{host}/{REPO}", "--auth", accounts)["tags"]] == ["v0.5.19"]
        run(WORLD["pawl"], "images", "list", f"{host}/{REPO}", status=5)


def pages_storms_and_cuts():
    pawl, host = WORLD["pawl"], WORLD["host"]
    for mode, status in (({"storm": 0, "cut": False}, 0), ({"storm": 4, "cut": False}, 0), ({"storm": 0, "cut": True}, 5)):
        port = free_port()
        handler = paging_proxy(host, mode)
        with serving(handler, port):
            name = f"127.0.0.1:{port}/{REPO}"
            done = run(pawl, "images", "latest", f"{name}:v0.5.18-cu130", "--json", "--tries", 5 if mode["storm"] else 2, status=status)
            pages = [p for p in handler.asked if "/tags/list" in p]
            if status == 0:
                found = json.loads(done.stdout)
                assert found["newest"] == "v0.5.19-cu130" and found["tags_listed"] == len(TAGS), found
                assert len({p for p in pages if "at=" in p}) == 3, pages
            else:
                assert done.stdout == "" and "page 2" in done.stderr, done.stderr


def a_cut_listing_never_takes_back_what_was_told():
    pawl, host, folder = WORLD["pawl"], WORLD["host"], WORLD["folder"]
    mode, port, state = {"storm": 0, "cut": False}, free_port(), folder / "watch.json"
    with serving(paging_proxy(host, mode), port):
        image = f"127.0.0.1:{port}/{REPO}:v0.5.18-cu130"
        first = run(pawl, "images", "watch", image, "--once", "--state", state, "--json")
        assert json.loads(first.stdout)["newest"] == "v0.5.19-cu130"
        told = state.read_text()
        assert run(pawl, "images", "watch", image, "--once", "--state", state).stdout == ""  # told once
        mode["cut"] = True
        cut = run(pawl, "images", "watch", image, "--once", "--state", state, "--tries", 2, status=5)
        assert "not read" in cut.stdout and "v0.5." not in cut.stdout.split("not read")[1], cut.stdout
        assert state.read_text() == told


def etags_spare_pages():
    class Tagged(Quiet):
        seen = []

        def do_GET(self):
            Tagged.seen.append(self.headers.get("If-None-Match"))
            if self.headers.get("If-None-Match") == '"e1"':
                return self.answer(304)
            return self.answer(200, json.dumps({"name": "a", "tags": ["v1.0.0"]}).encode(), [("ETag", '"e1"')])

    port, cache = free_port(), WORLD["folder"] / "cache"
    with serving(Tagged, port):
        for _ in range(2):
            assert len(run_json(WORLD["pawl"], "images", "list", f"127.0.0.1:{port}/a", "--cache", cache)["tags"]) == 1
    assert Tagged.seen == [None, '"e1"'], Tagged.seen


def packages_are_a_source_of_the_same_shape():
    class Index(Quiet):
        def do_GET(self):
            files = [{"filename": f"sglang-{v}-py3-none-any.whl", "hashes": {"sha256": hashlib.sha256(v.encode()).hexdigest()}, "upload-time": f"2026-0{i + 1}-01T00:00:00Z",
                      "yanked": v == "0.5.16" and "broken"} for i, v in enumerate(["0.5.14", "0.5.15", "0.5.16", "0.5.17rc1"])]
            self.answer(200, json.dumps({"name": "sglang", "files": files}).encode())

    port = free_port()
    with serving(Index, port):
        found = run_json(WORLD["pawl"], "images", "latest", "pypi:sglang==0.5.14", "--index", f"http://127.0.0.1:{port}/simple")
        assert found["newest"] == "0.5.15" and found["newest_image"] == "pypi:sglang==0.5.15", found  # 0.5.16 withdrawn, 0.5.17rc1 a candidate


def commits_are_ordered_by_ancestry():
    """Commit-named nightlies: only a clone of the source says which is later."""
    clone = WORLD["folder"] / "clone"
    git = ["git", "-C", clone, "-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "init", "-q", clone], check=True, env=ENV)
    commits = []
    for n in range(3):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", str(n)], check=True, env=ENV)
        commits.append(subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True, env=ENV).stdout.strip())

    class Nightlies(Quiet):
        def do_HEAD(self):
            self.answer(200, b"", [("Docker-Content-Digest", digest_of(self.path.encode()))])

        def do_GET(self):
            self.answer(200, json.dumps({"name": "a", "tags": sorted(f"nightly-{c}" for c in commits)}).encode())

    port = free_port()
    with serving(Nightlies, port):
        name = f"127.0.0.1:{port}/a:nightly-"
        ordered = run_json(WORLD["pawl"], "images", "latest", name + commits[0], "--source-clone", clone)
        assert ordered["newest"] == f"nightly-{commits[2]}", ordered
        assert run_json(WORLD["pawl"], "images", "latest", name + commits[2], "--source-clone", clone)["newest"] is None
        blind = run_json(WORLD["pawl"], "images", "latest", name + commits[0])
        assert blind["newest"] is None and blind["reason"] == "no order without push time or ancestry", blind


def bad_input_names_the_remedy():
    pawl = WORLD["pawl"]
    assert "repository" in run(pawl, "images", "list", "Not An Image", status=3).stderr
    assert "names no tag" in run(pawl, "images", "latest", "a/b", status=3).stderr
    assert "90s, 30m, 12h or 3d" in run(pawl, "images", "latest", "a/b:v1.0", "--min-age", "soon", status=2).stderr
    assert "no such channel" in run(pawl, "images", "latest", "a/b:v1.0", "--allow", "weekly", status=2).stderr
    assert "index.json" in run(pawl, "images", "list", "oci:/nonexistent", status=3).stderr


def main():
    if shutil.which("docker-registry") is None or shutil.which("skopeo") is None:
        print("  docker-registry or skopeo is not installed: skipped")
        return
    with world() as (pawl, host, layout, accounts, folder):
        WORLD.update(pawl=pawl, host=host, layout=layout, accounts=accounts, folder=folder)
        prove(discovery_and_order, facts_without_running, accounts_and_strangers, htpasswd_registry, pages_storms_and_cuts, a_cut_listing_never_takes_back_what_was_told,
              etags_spare_pages, packages_are_a_source_of_the_same_shape, commits_are_ordered_by_ancestry, bad_input_names_the_remedy)


main()
