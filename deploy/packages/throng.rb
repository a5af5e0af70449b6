class Throng < Formula
  desc "Load generator for realtime servers"
  homepage "$HOMEPAGE"
  version "$VERSION"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on :linux

$BINARIES

  def install
    bin.install "throng"
    man1.install Dir["man/man1/*"]
    man7.install Dir["man/man7/*"]
    bash_completion.install "completions/throng.bash" => "throng"
    zsh_completion.install "completions/_throng"
    fish_completion.install "completions/throng.fish"
    pkgshare.install Dir["share/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/throng --version")
    system bin/"throng", "echo", "--clients", "2", "--duration", "1s", "--no-store"
  end
end
