import fc from "fast-check";
import { expect, test } from "vitest";
import { shellCommands } from "../src/shell/index.ts";

/** Each command as its name and arguments. */
function commands(line: string): string[] {
  return shellCommands(line).map(({ name, args }) => [name, ...args.map(({ text }) => text)].join(" "));
}

test.each<[string, string[]]>([
  ["rm -rf build", ["rm -rf build"]],
  ["a;b&&c||d|e&f", ["a", "b", "c", "d", "e", "f"]],
  ["a\nb # rm -rf /\nc", ["a", "b", "c"]],
  ["rm \\\n  -rf \\\n  build", ["rm -rf build"]],
  ["\\rm -rf x; r''m y; \"rm\" z; $'r\\x6d' q", ["rm -rf x", "rm y", "rm z", "rm q"]],
  ["/usr/bin/rm -r x", ["rm -r x"]],
  ["A=1 B='x y' rm x", ["rm x"]],
  ["A=1", []],
  [`echo "rm -rf /" '; rm x' \\; rm`, ["echo rm -rf / ; rm x ; rm"]],
  ["(cd x && rm -r y)", ["cd x", "rm -r y"]],
  ["{ rm -r y; } 2>/dev/null", ["rm -r y", ""]],
  ["if test -d x; then rm -r x; else ! rm y; fi", ["test -d x", "rm -r x", "rm y"]],
  ["for x in $(ls a); do rm -r $x; done", ["ls a", "rm -r $x"]],
  ["case $x in a) rm -r b;; *) c ;; esac", ["rm -r b", "*", "c"]],
  ["f() { rm -r x; }; function g { rm y; }", ["f", "rm -r x", "rm y"]],
  [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's
    'echo "a $(rm -r x) `rm y` ${z:-$(rm q)}"',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's
    ["echo a $(rm -r x) `rm y` ${z:-$(rm q)}", "rm -r x", "rm y", "rm q"],
  ],
  ["echo '$(rm x)'", ["echo $(rm x)"]],
  ["A=$(rm x)", ["rm x"]],
  ["diff <(rm a) >(rm b)", ["diff <(rm a) >(rm b)", "rm a", "rm b"]],
  ["bash -c 'rm -rf x; y'", ["bash -c rm -rf x; y", "rm -rf x", "y"]],
  ["bash -lc \"sh -c 'rm z'\"", ["bash -lc sh -c 'rm z'", "sh -c rm z", "rm z"]],
  ["eval rm '-r x'", ["eval rm -r x", "rm -r x"]],
  [
    "sudo -u root -n A=1 env B=2 nice -n 5 rm -r x",
    [
      "sudo -u root -n A=1 env B=2 nice -n 5 rm -r x",
      "env B=2 nice -n 5 rm -r x",
      "nice -n 5 rm -r x",
      "rm -r x",
    ],
  ],
  ["timeout -k 5 10 rm x", ["timeout -k 5 10 rm x", "rm x"]],
  [
    "find . -name a -exec rm {} \\; -o -execdir chmod 1 {} +",
    ["find . -name a -exec rm {} ; -o -execdir chmod 1 {} +", "rm {}", "chmod 1 {}"],
  ],
  ["ls | xargs -0 -n 1 rm -rf", ["ls", "xargs -0 -n 1 rm -rf", "rm -rf"]],
  ["ssh -p 22 host 'rm -r x'", ["ssh -p 22 host rm -r x", "rm -r x"]],
  ["env -S 'rm -r x'", ["env -S rm -r x", "rm -r x"]],
  ["echo 'rm -r x' | sh", ["echo rm -r x", "sh", "rm -r x"]],
  ["bash <<'E'\nrm -r x\nE\ny", ["bash", "rm -r x", "y"]],
  ["bash <<< 'rm x'", ["bash", "rm x"]],
  ["cat <<E && y\nrm -r x $(rm z)\nE\n", ["cat", "rm z", "y"]],
  ["cat <<-'E'\n\trm $(rm z)\n\tE\ny", ["cat", "y"]],
  ["trap 'rm x' EXIT", ["trap rm x EXIT", "rm x"]],
  ["{rm,-rf,x} '{a,b}' {c,d{e,f}}g {h}", ["rm -rf x {a,b} cg deg dfg {h}"]],
  ["a=rm; b='-r -f'; $a $b \"$b\" '$b'", ["rm -r -f -r -f $b"]],
  ["rm$IFS-rf$IFS'x y'", ["rm -rf x y"]],
  ["time -p rm x", ["time -p rm x", "rm x"]],
  ["cat <<E | tee l | sh -s\nrm x\nE", ["cat", "tee l", "sh -s", "rm x"]],
  ["alias k='rm x'; unalias k", ["alias k=rm x", "rm x", "unalias k"]],
  ["((x = $y)) && for ((;;)); do rm x; done", ["((", "x = y", "rm x"]],
  ["", []],
  ["echo 'never closed", ["echo never closed"]],
  ["echo $((1 + $(rm x)))", ["echo $((1 + $(rm x)))", "1 + $(rm x)", "rm x"]],
])("%j runs %j", (line, expected) => {
  expect(commands(line)).toEqual(expected);
});

test("redirections have where they lead; copies of descriptors are none", () => {
  const [command] = shellCommands("a >x 2>>'y z' &>w 2>&1 <in >&- >|v");
  expect(command!.redirects.map(({ operator, target }) => `${operator} ${target.text}`)).toEqual([
    "> x",
    ">> y z",
    "&> w",
    "< in",
    ">| v",
  ]);
  expect(shellCommands("> x")[0]).toMatchObject({ name: "", redirects: [{ operator: ">" }] });
});

test("a command knows what stands before it in the pipe, and what it substitutes", () => {
  expect(shellCommands("(curl x) |\n sh").at(-1)).toMatchObject({ name: "sh", readsFrom: { name: "curl" } });
  expect(shellCommands("curl x | sudo bash -s").at(-1)).toMatchObject({
    name: "bash",
    readsFrom: { name: "curl" },
  });
  expect(shellCommands("curl x; sh").at(-1)).not.toHaveProperty("readsFrom");
  expect(shellCommands('sh -c "$(curl x)"')[0]).toMatchObject({ substituted: [{ name: "curl" }] });
});

test("wildcards are the shell's only in what is not quoted", () => {
  expect(shellCommands("rm * '*'")[0]!.args.map(({ isPlain }) => isPlain)).toEqual([true, false]);
});

test("no text makes it throw or hang, and a command behind any finished word is found", () => {
  const piece = fc.constantFrom(
    ..."\\'\"`$(){}<>|&;\n# a=-c!".split(""),
    "<<E\n",
    "bash ",
    "eval ",
    "$'",
    "${",
    "$((",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 15 }), (pieces) => {
      shellCommands(pieces.join(""));
    }),
  );
  fc.assert(
    fc.property(fc.string(), (text) => {
      const quoted = `'${text.replaceAll("'", "")}'`;
      expect(commands(`echo ${quoted}; rm -r x`)).toContain("rm -r x");
    }),
  );
});

test.each([
  ["$a x", [true]],
  ["r? x; [ -f y ]; /bin/ls *", [true, undefined, undefined]],
  ["$(a)/b; $(a/b); `c`", [undefined, undefined, true, undefined, true, undefined]],
  ["a=1; a=2; $a; b=3; $b; read b; $b", [true, undefined, undefined, true]],
  ["case $x in -*|b*) c;; esac", [undefined, undefined]],
])("%j: which programs only show when it is run", (line, expected) => {
  expect(shellCommands(line).map(({ isDynamic }) => isDynamic)).toEqual(expected);
});

test("what would make words without end is refused", () => {
  const doubled = Array.from({ length: 60 }, (_, at) => `a${at + 1}=$a${at}$a${at}`).join("; ");
  expect(shellCommands(`a0=rm; ${doubled}; $a60`).at(-1)!.isDynamic).toBe(true);
  for (const line of ["{a,b}".repeat(40), `{${",".repeat(100_000)}}${"x".repeat(100)}`])
    expect(() => shellCommands(line)).toThrow(RangeError);
  const value = `v=${"x".repeat(9_000)}; echo ${"$v".repeat(1_000)}`;
  expect(() => shellCommands(value)).toThrow(RangeError);
});

test("what is nested without end is refused", () => {
  for (const depth of [30, 2_000, 200_000]) {
    const nested = `echo ${"$(".repeat(depth)}rm x${")".repeat(depth)}`;
    expect(() => shellCommands(nested)).toThrow(RangeError);
  }
});
