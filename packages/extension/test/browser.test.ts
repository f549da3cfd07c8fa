import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { openBrowser } from "../src/login/browser.ts";

/** A folder with a program of this name that writes what it is called with, and ends so. */
function programFolder(name: string, code = 0): { folder: string; called(): string | undefined } {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-browser-"));
  const record = join(folder, "called");
  writeFileSync(join(folder, name), `#!/bin/sh\nprintf '%s\\n' "$@" > '${record}'\nexit ${code}\n`, {
    mode: 0o755,
  });
  return { folder, called: () => (existsSync(record) ? readFileSync(record, "utf8").trim() : undefined) };
}

const url = "https://login.example/authorize?a=1&b=$(touch x);`id`'\"";

describe.skipIf(process.platform === "win32")("the browser is opened", () => {
  test("by each system's opener, without a shell", () =>
    everyRow<[string, NodeJS.Platform, string, Record<string, string>, string]>([
      ["by xdg-open on a display", "linux", "xdg-open", { DISPLAY: ":0" }, ""],
      ["by xdg-open in Wayland", "linux", "xdg-open", { WAYLAND_DISPLAY: "wayland-0" }, ""],
      ["by open on a Mac", "darwin", "open", {}, ""],
      ["by rundll32 on Windows", "win32", "rundll32", {}, "url.dll,FileProtocolHandler\n"],
      [
        "by Windows from within WSL",
        "linux",
        "rundll32.exe",
        { WSL_DISTRO_NAME: "Ubuntu" },
        "url.dll,FileProtocolHandler\n",
      ],
      [
        "by what BROWSER names, over SSH too",
        "linux",
        "helper",
        { BROWSER: "helper", SSH_CONNECTION: "1" },
        "",
      ],
    ])(async ([_name, platform, program, env, before]) => {
      const { folder, called } = programFolder(program);
      const path = `${folder}${delimiter}/usr/bin${delimiter}/bin`;
      expect(await openBrowser(url, { platform, env: { PATH: path, ...env } })).toBe(true);
      expect(called()).toBe(`${before}${new URL(url).href}`);
    }));

  test("and the result is false if the opener fails", async () => {
    const { folder, called } = programFolder("xdg-open", 3);
    const env = { PATH: `${folder}${delimiter}/usr/bin${delimiter}/bin`, DISPLAY: ":0" };
    expect(await openBrowser(url, { platform: "linux", env })).toBe(false);
    expect(called()).toBeDefined();
  });
});

describe("no browser is opened", () => {
  test("over SSH, in CI, without a display, or without an opener", () =>
    everyRow<[string, NodeJS.Platform, Record<string, string>]>([
      ["over SSH", "linux", { SSH_CONNECTION: "1", DISPLAY: ":10" }],
      ["on a Mac over SSH", "darwin", { SSH_TTY: "/dev/ttys0" }],
      ["in CI", "darwin", { CI: "true" }],
      ["without a display", "linux", {}],
      ["where the opener is missing", "linux", { DISPLAY: ":0" }],
      ["where BROWSER names none", "linux", { BROWSER: "none", DISPLAY: ":0" }],
    ])(async ([_name, platform, env]) => {
      const empty = mkdtempSync(join(tmpdir(), "bonsai-browser-"));
      expect(await openBrowser(url, { platform, env: { PATH: empty, ...env } })).toBe(false);
    }));

  test("for an address other than http and https", () =>
    everyRow(["file:///etc/passwd", "javascript:alert(1)", "no address", "mailto:a@b.example", "--version"])(
      async (address) => {
        const { folder, called } = programFolder("xdg-open");
        const env = { PATH: folder, DISPLAY: ":0" };
        expect(await openBrowser(address, { platform: "linux", env })).toBe(false);
        expect(called()).toBeUndefined();
      },
    ));
});
