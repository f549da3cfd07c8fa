import { mkdirSync, symlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type FindExtensionsOptions, findExtensions } from "../src/host/find-extensions.ts";
import { packageExtensions } from "../src/load/extension-entries.ts";
import { folderWith } from "./files-on-disk.ts";

/** Paths relative to the folder that holds home, project and all else. */
function found(root: string, options: Partial<FindExtensionsOptions> = {}) {
  const { extensions, problems } = findExtensions({
    home: join(root, "home"),
    cwd: join(root, "project"),
    isProjectTrusted: true,
    ...options,
  });
  return {
    extensions: extensions.map(({ path, origin }) => `${origin} ${relative(root, path)}`),
    problems: problems.map(
      ({ path, message, hint }) => `${relative(root, path)}: ${message} ${hint.length > 0}`,
    ),
  };
}

const module = "export default () => {};";
const naming = (...extensions: string[]) => JSON.stringify({ bonsai: { extensions } });

test("finds modules, folders with an index and folders with a package.json, by name, and skips the rest", () => {
  const root = folderWith({
    "home/extensions/b.ts": module,
    "home/extensions/a.mjs": module,
    "home/extensions/c.js": module,
    "home/extensions/d.mts": module,
    "home/extensions/c.d.ts": "",
    "home/extensions/c.test.ts": module,
    "home/extensions/.hidden.ts": module,
    "home/extensions/_shared/index.ts": module,
    "home/extensions/notes.md": "",
    "home/extensions/pictures/one.png": "",
    "home/extensions/node_modules/x/index.js": module,
    "home/extensions/with-index/index.ts": module,
    "home/extensions/with-index/other.ts": module,
    "home/extensions/with-package/package.json": naming("./src/two.ts", "src/one.ts"),
    "home/extensions/with-package/index.ts": module,
    "home/extensions/with-package/src/one.ts": module,
    "home/extensions/with-package/src/two.ts": module,
  });
  expect(found(root)).toEqual({
    extensions: [
      "user home/extensions/a.mjs",
      "user home/extensions/b.ts",
      "user home/extensions/c.js",
      "user home/extensions/d.mts",
      "user home/extensions/with-index/index.ts",
      "user home/extensions/with-package/src/two.ts",
      "user home/extensions/with-package/src/one.ts",
    ],
    problems: [],
  });
});

test("loads the user's, then the project's, the settings' and the flags'; without trust, not the project's", () => {
  const root = folderWith({
    "home/extensions/z.ts": module,
    "project/.bonsai/extensions/y.ts": module,
    "elsewhere/x.ts": module,
    "project/w.ts": module,
  });
  const options = { settingsPaths: [join(root, "elsewhere/x.ts")], flagPaths: ["./w.ts"] };
  const all = [
    "user home/extensions/z.ts",
    "project project/.bonsai/extensions/y.ts",
    "settings elsewhere/x.ts",
    "flag project/w.ts",
  ];
  expect(found(root, options)).toEqual({ extensions: all, problems: [] });
  expect(found(root, { ...options, isProjectTrusted: false }).extensions).toEqual(
    all.filter((each) => !each.startsWith("project")),
  );
  expect(found(root, { ...options, onlyFlags: true }).extensions).toEqual(["flag project/w.ts"]);
});

test("a module that is found twice is loaded once, where it was found last", () => {
  const root = folderWith({
    "home/extensions/a.ts": module,
    "home/extensions/b.ts": module,
    "project/x": "",
  });
  symlinkSync(join(root, "home/extensions/a.ts"), join(root, "project/link.ts"));
  expect(found(root, { flagPaths: ["link.ts", "../home/extensions/a.ts"] })).toEqual({
    extensions: ["user home/extensions/b.ts", "flag home/extensions/a.ts"],
    problems: [],
  });
});

describe("a folder that a flag names", () => {
  test("gives the modules of its package.json, its index, or all modules in it", () =>
    everyRow([
      [
        "its package.json",
        { "package.json": naming("./main.ts"), "main.ts": module, "index.ts": module },
        ["main.ts"],
      ],
      ["its index", { "index.js": module, "other.ts": module }, ["index.js"]],
      ["all modules in it", { "one.ts": module, "two/index.ts": module }, ["one.ts", "two/index.ts"]],
    ])(([_, files, expected]) => {
      const root = folderWith({
        "project/x": "",
        ...Object.fromEntries(Object.entries(files).map(([name, text]) => [`ext/${name}`, text])),
      });
      expect(found(root, { flagPaths: ["../ext"] })).toEqual({
        extensions: expected.map((name) => `flag ext/${name}`),
        problems: [],
      });
    }));
});

describe("the extensions of a package", () => {
  test("are the listed ones, else the ones in its folder extensions", () =>
    everyRow([
      [
        "bonsai's list before pi's",
        { bonsai: { extensions: ["a.ts"] }, pi: { extensions: ["b.ts"] } },
        ["a.ts"],
      ],
      ["pi's list", { pi: { extensions: ["./b.ts"], skills: ["./s"] } }, ["b.ts"]],
      ["globs, less what is taken away", { bonsai: { extensions: ["*.ts", "!b.ts"] } }, ["a.ts"]],
      [
        "globs of many stars",
        { bonsai: { extensions: ["*.ts", "!*s*s*s*s*s*s*s*s*s*s*s*s*t"] } },
        ["a.ts", "b.ts"],
      ],
      ["globs of folders", { bonsai: { extensions: ["{a.ts,**/e.ts}"] } }, ["a.ts", "extensions/e.ts"]],
      ["a folder that is named", { bonsai: { extensions: ["./many"] } }, ["many/one.ts", "many/two.ts"]],
      ["none, where the list is empty", { bonsai: { extensions: [] } }, []],
      ["the folder extensions, where nothing is named", { name: "x" }, ["extensions/e.ts"]],
    ])(([_, manifest, expected]) => {
      const folder = folderWith({
        "package.json": `\uFEFF${JSON.stringify(manifest)}`,
        "a.ts": module,
        "b.ts": module,
        "a.test.ts": module,
        "types.d.ts": "",
        "many/one.ts": module,
        "many/two.ts": module,
        "extensions/e.ts": module,
        ["s".repeat(200)]: "",
      });
      const { entries, problems } = packageExtensions(folder);
      expect(entries.map((path) => relative(folder, path))).toEqual(expected);
      expect(problems).toEqual([]);
    }));

  test("are the module itself, if a single module was installed", () => {
    const folder = folderWith({ "lone.ts": module });
    expect(packageExtensions(join(folder, "lone.ts")).entries).toEqual([join(folder, "lone.ts")]);
  });
});

describe("problems are reported, and the other extensions found", () => {
  const broken: [string, Record<string, string>, string][] = [
    ["no JSON", { "package.json": "{" }, "package.json: Cannot read it as JSON"],
    [
      "a list that is a string",
      { "package.json": '{"bonsai":{"extensions":"a.ts"}}' },
      "package.json: It has an error at bonsai.extensions",
    ],
    [
      "a package.json that is a list",
      { "package.json": "[]" },
      "package.json: It has an error at the top level",
    ],
    [
      "a path outside",
      { "package.json": naming("../x.ts") },
      "package.json: It lists ../x.ts, which is outside",
    ],
    [
      "an absolute path",
      { "package.json": naming("/etc/x.ts") },
      "package.json: It lists /etc/x.ts, which is outside",
    ],
    ["a file that is not there", { "package.json": naming("./gone.ts") }, "gone.ts: It does not exist."],
    [
      "a glob without match",
      { "package.json": naming("./*.ts") },
      "package.json: It lists ./*.ts, but no file matches.",
    ],
    ["no index", { "main.ts": module }, ": It contains no extension."],
    ["only a package.json", { "package.json": "{}" }, ": It contains no extension."],
  ];
  test("each kind of problem is reported with its path", () =>
    everyRow(broken)(([_, files, problem]) => {
      const root = folderWith({
        "home/extensions/sound.ts": module,
        ...Object.fromEntries(
          Object.entries(files).map(([name, text]) => [`home/extensions/ext/${name}`, text]),
        ),
      });
      const { extensions, problems } = found(root);
      expect(extensions).toEqual(["user home/extensions/sound.ts"]);
      expect(problems).toHaveLength(1);
      expect(problems[0]).toContain(
        join("home/extensions/ext", problem.startsWith(":") ? "" : "/").replace(/\/$/, ""),
      );
      expect(problems[0]).toContain(problem);
      expect(problems[0]?.endsWith("true")).toBe(true);
    }));

  test("reports an empty folder, broken links, and a file instead of the folder", () => {
    const root = folderWith({ "home/extensions/sound.ts": module, "project/.bonsai/extensions": "" });
    mkdirSync(join(root, "home/extensions/empty"));
    symlinkSync("loop.ts", join(root, "home/extensions/loop.ts"));
    symlinkSync("nowhere.ts", join(root, "home/extensions/dangling.ts"));
    expect(found(root)).toEqual({
      extensions: ["user home/extensions/sound.ts"],
      problems: [
        "home/extensions/dangling.ts: It does not exist. true",
        "home/extensions/empty: It contains no extension. true",
        "home/extensions/loop.ts: It is a link to itself. true",
        "project/.bonsai/extensions: It is not a folder. true",
      ],
    });
  });

  test("reports missing paths of flags and settings, and names of packages", () => {
    const root = folderWith({ "project/none/notes.md": "" });
    const { problems } = found(root, {
      flagPaths: ["./gone.ts", "npm:some-package", "./none"],
      settingsPaths: ["~/surely-not-there.ts"],
    });
    expect(problems.map((text) => text.replace(/^.*?([^/]+: )/, "$1"))).toEqual([
      "surely-not-there.ts: It does not exist. true",
      "gone.ts: It does not exist. true",
      expect.stringContaining("It is a package, not a path."),
      "none: It contains no extension. true",
    ]);
  });

  test("reports an unreadable path", () => {
    const root = folderWith({ "project/x": "" });
    const { problems } = found(root, { flagPaths: ["x".repeat(300)] });
    expect(problems[0]).toContain("Cannot read it: ENAMETOOLONG");
  });
});

test("law: no content of a folder makes it throw, and each module is found once", () => {
  const name = fc.constantFrom(
    "a.ts",
    "b.js",
    "index.ts",
    "c.d.ts",
    "package.json",
    ".x.ts",
    "sub/index.ts",
    "sub/package.json",
    "sub/a.ts",
  );
  const text = fc.oneof(
    fc.constant(module),
    fc.constantFrom(
      "{",
      "[]",
      "null",
      '{"bonsai":null}',
      naming("a.ts", "./a.ts", "*.ts"),
      naming("..", ""),
      naming("."),
    ),
  );
  fc.assert(
    fc.property(fc.dictionary(name, text, { maxKeys: 6 }), (files) => {
      const root = folderWith(
        Object.fromEntries(
          Object.entries(files).map(([path, content]) => [`home/extensions/${path}`, content]),
        ),
      );
      const { extensions } = found(root, { flagPaths: [join(root, "home/extensions")] });
      expect(new Set(extensions).size).toBe(extensions.length);
    }),
  );
});
