import { execFileSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ToolFolder, textOf, toolFolder } from "./tool-folder.ts";

function project(): ToolFolder {
  const folder = toolFolder();
  const names = [
    "src/a.ts",
    "src/deep/b.ts",
    "src/deep/B.test.ts",
    "src/generated/c.ts",
    "dist/a.ts",
    "node_modules/x/index.ts",
    ".github/ci.yml",
    "README.md",
    ".git/hooks/a.ts",
  ];
  for (const name of names) folder.write(name, "");
  folder.write(".gitignore", "/dist\nnode_modules/\n");
  folder.write("src/.gitignore", "generated\n!deep/b.ts\n");
  folder.write(".git/info/exclude", "*.test.ts\n");
  return folder;
}

const searches: [string, Record<string, unknown>, string[]][] = [
  ["a name at any depth", { pattern: "*.ts" }, ["src/a.ts", "src/deep/b.ts"]],
  ["a path", { pattern: "src/*.ts" }, ["src/a.ts"]],
  ["a path at any depth", { pattern: "**/deep/*" }, ["src/deep/b.ts"]],
  ["a leading ./", { pattern: "./src/a.*" }, ["src/a.ts"]],
  ["hidden files", { pattern: "*.yml" }, [".github/ci.yml"]],
  ["folders", { pattern: "deep" }, ["src/deep/"]],
  ["only folders", { pattern: "s*/" }, ["src/"]],
  [
    "below a folder, with the paths that read takes",
    { pattern: "*.ts", path: "src/deep" },
    ["src/deep/b.ts"],
  ],
  [
    "in an ignored folder that is named",
    { pattern: "*.ts", path: "node_modules/x" },
    ["node_modules/x/index.ts"],
  ],
  ["one of several characters", { pattern: "[!A-Z]*.[[:alpha:]]s" }, ["src/a.ts", "src/deep/b.ts"]],
  ["a range of numbers", { pattern: "{9..11}.ts" }, ["Nothing matches {9..11}.ts in the working folder."]],
  [
    "brackets, as in names of routes",
    { pattern: "(a).ts" },
    ['Nothing matches (a).ts in the working folder. Try "*(a).ts*".'],
  ],
  ["several names", { pattern: "{a.ts,*.md}" }, ["README.md", "src/a.ts"]],
  ["nothing", { pattern: "*.go" }, ["Nothing matches *.go in the working folder."]],
  [
    "nothing by a plain name",
    { pattern: "READ" },
    ['Nothing matches READ in the working folder. Try "*READ*".'],
  ],
  [
    "a part",
    { pattern: "*.ts", limit: 1 },
    ["src/a.ts", "[1 more. Narrow the pattern or the path, or raise limit.]"],
  ],
];
test("find lists the paths that match a pattern", async () => {
  for (const [name, input, expected] of searches) {
    using folder = project();
    expect.soft(textOf(await folder.run("find", input)).split("\n"), name).toEqual(expected);
  }
});

test("a link to the folder above is shown and not followed", async () => {
  using folder = project();
  symlinkSync("..", join(folder.path, "src/up.ts"));
  expect(textOf(await folder.run("find", { pattern: "up.ts" }))).toBe("src/up.ts");
});

test("an absolute glob is taken inside the folder, and refused elsewhere", async () => {
  using folder = project();
  expect(textOf(await folder.run("find", { pattern: join(folder.path, "*.md") }))).toBe("README.md");
  await expect(folder.run("find", { pattern: "/etc/*" })).rejects.toThrow("The pattern /etc/* is absolute.");
});

test("find in a file is refused", async () => {
  using folder = project();
  await expect(folder.run("find", { pattern: "*", path: "README.md" })).rejects.toThrow(
    "README.md is a file.",
  );
});

test("an abort ends the search", async () => {
  using folder = project();
  await expect(folder.run("find", { pattern: "*" }, { signal: AbortSignal.abort() })).rejects.toThrow();
});

test("find leaves out the files that git ignores", async () => {
  using folder = project();
  folder.write(".gitignore", "/dist\nnode_modules/\n*.tmp\n");
  folder.write("src/again/.gitignore", "!a.tmp\n");
  for (const name of ["a.tmp", "b.tmp"]) folder.write(`src/again/${name}`, "");
  folder.write("x/.gitignore", "*\n!.gitignore\n!keep*\nkeep-not\n");
  for (const name of ["x/a", "x/keep", "x/keep-not", "x/y/keep2", "src/x.log"]) folder.write(name, "");
  folder.write("src/deep/.gitignore", "*.log\n!x.log\n!generated/\n[z-a].md\n[!a-c].txt\n");
  for (const name of ["generated/f.ts", "[z-a].md", "a.txt", "d.txt"]) folder.write(`src/deep/${name}`, "");
  folder.write("src/deep/x.log", "");
  execFileSync("git", ["init", "-q"], { cwd: folder.path });
  const listed = execFileSync("git", ["ls-files", "--others", "--exclude-standard"], {
    cwd: folder.path,
    encoding: "utf8",
  });
  const found = textOf(await folder.run("find", { pattern: "*" })).split("\n");
  expect(found.filter((path) => !path.endsWith("/"))).toEqual(listed.trim().split("\n").sort());
});

/** Each took a matcher that goes back and tries again from seconds to years. */
const longGlobs: [string, string][] = [
  ["stars", "*a*a*a*a*a*a*a*a*a*a*a*a*b"],
  ["folders", `${"**/".repeat(40)}x`],
  ["stars and question marks", `${"*?".repeat(60)}x`],
  ["stars in two names", `${"*a".repeat(20)}/${"*a".repeat(20)}b`],
  ["classes", `${"[abc]*".repeat(60)}x`],
  ["open brackets", "[".repeat(2_000)],
  ["open braces", "{".repeat(2_000)],
];

test("a long glob takes no longer than its length", async () => {
  for (const [name, pattern] of longGlobs) {
    using folder = toolFolder();
    folder.write(`${"a/".repeat(40)}${"a".repeat(200)}`, "");
    expect.soft(textOf(await folder.run("find", { pattern })), name).toMatch(/^Nothing matches/);
  }
});

test("a .gitignore with a long line takes no longer than that", async () => {
  for (const [name, line] of longGlobs) {
    using folder = toolFolder();
    folder.write(".gitignore", `${line}\n*.log\n`);
    folder.write("a".repeat(200), "");
    folder.write("a.log", "");
    expect.soft(textOf(await folder.run("find", { pattern: "a*" })), name).toBe("a".repeat(200));
  }
});

const tooManyChoices = "The choices and number ranges of the glob stand for more than 1,000 globs.";

const expensiveGlobs = [
  ["of many characters", "*".repeat(2_001), "The glob has 2,001 characters; the maximum is 2,000."],
  ["of a long range", "{1..99999999}", "The range {1..99999999} of the glob covers more than 1,000 numbers."],
  ["of many ranges", "{1..900}{1..900}", tooManyChoices],
  ["of many choices", `${"{a,b}".repeat(300)}x`, tooManyChoices],
  ["of choices within choices", `${"{*a,".repeat(300)}b${"}".repeat(300)}x`, tooManyChoices],
] as const;
test("refuses a glob that stands for too many", async () => {
  for (const [name, pattern, problem] of expensiveGlobs) {
    using folder = toolFolder();
    await expect.soft(folder.run("find", { pattern }), name).rejects.toThrow(problem);
  }
});

test("a pipe in the place of a .gitignore holds nothing up", async () => {
  using folder = toolFolder();
  execFileSync("mkfifo", [join(folder.path, ".gitignore")]);
  folder.write("a.ts", "");
  expect(textOf(await folder.run("find", { pattern: "*.ts" }))).toBe("a.ts");
});

test("a huge folder gives way to an abort", async () => {
  using folder = toolFolder();
  for (let number = 0; number < 1_000; number += 1) folder.write(`d/${number}`, "");
  folder.write(".gitignore", "*a*b*c\n".repeat(2_000));
  const abort = new AbortController();
  const running = folder.run("find", { pattern: "*x*y*z*" }, { signal: abort.signal });
  // Neither keys nor signals come before a turn of the event loop.
  const timer = setInterval(() => abort.abort(new Error("stopped by a key")), 1);
  await expect(running).rejects.toThrow("stopped by a key");
  clearInterval(timer);
});
