import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { agentSettings } from "@bonsai-agent/agent";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { valueAt, withValue, writeSetting } from "../../src/call/settings-file.ts";
import { listedSettings } from "../../src/interactive/slash/settings.ts";
import { testFolder } from "../call/sample-session.ts";

test("a setting is written beside the others: their order and the indentation stay, mode 0600", () => {
  const home = testFolder();
  const file = join(home, "settings.json");
  writeFileSync(file, '{\n\t"titles": false,\n\t"$schema": "./settings.schema.json"\n}\n', { mode: 0o644 });
  writeSetting(home, ["compaction", "keepRecentTokens"], 9_000);
  expect(readFileSync(file, "utf8")).toBe(
    '{\n\t"titles": false,\n\t"$schema": "./settings.schema.json",\n\t"compaction": {\n\t\t"keepRecentTokens": 9000\n\t}\n}\n',
  );
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("the first setting makes the folder and the file", () => {
  const home = join(testFolder(), "new");
  writeSetting(home, ["titles"], false);
  expect(readFileSync(join(home, "settings.json"), "utf8")).toBe('{\n  "titles": false\n}\n');
});

test("a value that is taken away takes empty sections along", () => {
  const settings = { titles: true, compaction: { threshold: { percent: 50 } } };
  expect(withValue(settings, ["compaction", "threshold", "percent"], undefined)).toEqual({ titles: true });
});

test("a setting that cannot be written is refused, and the file stays as it was", () =>
  everyRow([
    ["a value that is not allowed", "{}", -1],
    ["a file that is wrong already", '{"nonsense": 1}', 5_000],
    ["a file that is no JSON", "{", 5_000],
  ])(([_name, text, value]) => {
    const home = testFolder();
    const file = join(home, "settings.json");
    writeFileSync(file, text);
    expect(() => writeSetting(home, ["compaction", "keepRecentTokens"], value)).toThrow();
    expect(readFileSync(file, "utf8")).toBe(text);
  }));

test("a link stays a link", () => {
  const folder = testFolder();
  const home = join(folder, "home");
  mkdirSync(home);
  const real = join(folder, "dotfiles.json");
  writeFileSync(real, "{}");
  symlinkSync(real, join(home, "settings.json"));
  writeSetting(home, ["titles"], false);
  expect(JSON.parse(readFileSync(real, "utf8"))).toEqual({ titles: false });
});

test("every listed setting is one of the agent's, and its choices are allowed", () => {
  for (const { name, path, kind, words, meaning } of listedSettings()) {
    expect(meaning, name).not.toBe("");
    const allowed = {
      switch: [true, false],
      choice: words,
      number: [10, ...words],
      model: ["a/b"],
      theme: ["my theme"],
    };
    for (const each of allowed[kind])
      expect(valueAt(agentSettings(withValue({}, path, each)), path), name).toBe(each);
  }
});
