"""What `cmake --install` lays out: the program, its manual page, the completions of three shells, the unit of the service."""
import re
import shutil
import subprocess

from pawl_e2e import ENV, LIMIT_S, PAWL, ROOT, prove, run, scratch


def output(*command, **how):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=LIMIT_S, **how)
    assert done.returncode == 0, f"{command}: exit status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout + done.stderr


def have(*tools):
    """Whether the machine has these tools; what it cannot check here it says."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        print(f"  not checked: there is no {', '.join(missing)}", flush=True)
    return not missing


with scratch() as tmp:
    pawl, usr = tmp / "pawl", tmp / "root/usr"

    def every_file_is_installed():
        build = PAWL.parent
        if not (build / "cmake_install.cmake").exists():
            print("  not checked: the binary is not in its build folder", flush=True)
            return
        output("cmake", "--install", build, "--prefix", usr)
        files = {str(path.relative_to(usr)) for path in usr.rglob("*") if path.is_file()}
        assert files == {"bin/pawl", "lib/systemd/system/pawl-serve.service", "share/man/man1/pawl.1", "share/bash-completion/completions/pawl",
                         "share/zsh/vendor-completions/_pawl", "share/fish/vendor_completions.d/pawl.fish", "share/doc/pawl/README.md",
                         "share/doc/pawl/LICENSE", "share/doc/pawl/copyright"}, files
        for name, file in (("man", "share/man/man1/pawl.1"), ("bash", "share/bash-completion/completions/pawl")):
            assert (usr / file).read_text() == run(pawl, "completion", name).stdout, file

    def commands(*path):
        """(path, help) of every command, by the help texts."""
        text = run(pawl, *path, "--help").stdout
        yield path, text
        for name in re.findall(r"^  (\S+) ", text.partition("\nSubcommands:\n")[2].partition("\n\n")[0], re.MULTILINE):
            yield from commands(*path, name)

    def manual_page_holds_every_command_and_flag():
        page = run(pawl, "completion", "man").stdout
        plain = page.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", "")
        for path, text in commands():
            for flag in re.findall(r"^  .*?(--[a-z-]+)", text.partition("\nSubcommands:")[0], re.MULTILINE):
                assert flag in plain, f"{flag} of {path}"
            assert "\nSubcommands:" in text or f"\n.SS pawl {' '.join(path)}" in plain, path
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "EXIT STATUS", "EXAMPLES"):
            assert f"\n.SH {section}\n" in page, section
        if have("man", "groff"):
            said = output("man", "--warnings", "-l", "-", input=page, env=ENV | {"MANWIDTH": "200", "LC_ALL": "C.UTF-8"})
            assert "warning" not in said and "pawl upgrade plan --catalog" in said, said[:2000]

    def bash(*words):
        """What bash offers for the last word."""
        file = tmp / "completion.bash"
        file.write_text(run(pawl, "completion", "bash").stdout)
        script = f'source {file}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pawl; printf "%s\\n" "${{COMPREPLY[@]}}"'
        return output("bash", "-euc", script, "bash", "pawl", *words).split()

    def bash_completes_commands_flags_and_values():
        assert {"demo", "upgrade", "completion"} <= set(bash("")) and not [word for word in bash("") if word.startswith("-")]
        assert bash("upgrade", "pl") == ["plan"]
        assert bash("upgrade", "plan", "--cat") == ["--catalog"]
        assert bash("demo", "--progress", "") == ["text", "json", "none"]
        assert bash("demo", "--progress", "=", "j") == ["json"] and bash("demo", "--progress", "=") == ["text", "json", "none"]
        assert bash("completion", "--json", "z") == ["zsh"]
        assert bash("upgrade", "plan", "--catalog", "") == []  # names of files, by -o default

    def zsh_and_fish_take_their_completions():
        for shell in ("zsh", "fish"):
            file = tmp / f"completion.{shell}"
            file.write_text(run(pawl, "completion", shell).stdout)
            if have(shell):
                output(shell, "-n", file)
        if have("fish"):
            said = output("fish", "--no-config", "-c", f"source {tmp}/completion.fish; complete -C 'pawl upgrade pl'; complete -C 'pawl demo --progress '; "
                          "complete -C 'pawl dem'", cwd=tmp, env=ENV | {"HOME": str(tmp)})
            offered = [line.partition("\t")[0] for line in said.splitlines()]
            assert offered == ["plan", "json", "none", "text", "demo"], said

    def unit_of_the_service_is_valid_and_closed():
        if not have("systemd-analyze"):
            return
        folder = tmp / "unit"
        folder.mkdir()
        unit = folder / "pawl-serve.service"
        # Verified as if pawl were installed.
        unit.write_text((ROOT / "packaging/pawl-serve.service").read_text().replace("ExecStart=pawl ", f"ExecStart={pawl} "))
        said = output("systemd-analyze", "verify", "--man=no", unit)
        assert not said.strip(), said
        output("systemd-analyze", "security", "--offline=true", "--threshold=20", unit)

    prove(every_file_is_installed, manual_page_holds_every_command_and_flag, bash_completes_commands_flags_and_values, zsh_and_fish_take_their_completions,
          unit_of_the_service_is_valid_and_closed)
