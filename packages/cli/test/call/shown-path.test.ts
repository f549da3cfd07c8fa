import { everyRow } from "@bonsai-agent/testkit";
import { afterEach, expect, test, vi } from "vitest";
import { shownPath } from "../../src/call/paths.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

test("a path is shown relative to the working folder or the home", () =>
  everyRow([
    ["in the working folder", "/home/ada/shop", "/home/ada/shop/src/a.ts", "src/a.ts"],
    ["in the user's home", "/srv", "/home/ada/notes.md", "~/notes.md"],
    ["elsewhere", "/srv", "/etc/hosts", "/etc/hosts"],
  ])(([_where, cwd, path, shown]) => {
    vi.stubEnv("HOME", "/home/ada");
    expect(shownPath(path, cwd)).toBe(shown);
  }));

test("without a home, nothing lies in it", () => {
  vi.stubEnv("HOME", "");
  expect(shownPath("/etc/hosts", "/srv")).toBe("/etc/hosts");
});
