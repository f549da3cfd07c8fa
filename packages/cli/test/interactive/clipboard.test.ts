import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { on } from "../../../extension/test/desk.ts";
import { readClipboard } from "../../src/interactive/session/clipboard.ts";

const wlPaste = (types: string, data: string) =>
  `case "$1" in --list-types) printf '${types}\\n';; *) printf '${data}';; esac`;

test("an image is preferred to the text beside it, PNG to other formats", async () => {
  const asked = `case "$1" in --list-types) printf 'text/plain\\nimage/jpeg\\nimage/png\\n';; *) printf '%s' "$3";; esac`;
  expect(await readClipboard(on({ scripts: { "wl-paste": asked } }))).toEqual({
    kind: "image",
    bytes: Buffer.from("image/png"),
  });
});

test("reads text of every type", () =>
  everyRow(["text/plain;charset=utf-8", "UTF8_STRING", "STRING", "text/uri-list"])(async (type) => {
    const content = await readClipboard(on({ scripts: { "wl-paste": wlPaste(type, "grün\\nzwei") } }));
    expect(content).toEqual({ kind: "text", text: "grün\nzwei" });
  }));

test("reads the clipboard of X11 with xclip", async () => {
  const xclip = `case "$4" in TARGETS) printf 'TARGETS\\nimage/webp\\n';; *) printf '%s' "$*";; esac`;
  expect(await readClipboard(on({ scripts: { xclip }, variables: { DISPLAY: ":0" } }))).toEqual({
    kind: "image",
    bytes: Buffer.from("-selection clipboard -t image/webp -o"),
  });
});

test("reads the clipboard of the other desktop if one has nothing or no program", async () => {
  const variables = { WAYLAND_DISPLAY: "wayland-0", DISPLAY: ":0" };
  const xclip = `case "$4" in TARGETS) echo STRING;; *) printf there;; esac`;
  const there = { kind: "text", text: "there" };
  expect(await readClipboard(on({ scripts: { xclip }, variables }))).toEqual(there);
  for (const wlPaste of ["echo 'Nothing is copied' >&2; exit 1", "sleep 1000"]) {
    const scripts = { xclip, "wl-paste": wlPaste };
    expect(await readClipboard(on({ scripts, variables, timeoutMs: 500 }))).toEqual(there);
  }
});

test("reads the next type if the first one fails", async () => {
  const script = `case "$*" in --list-types) printf 'image/png\\ntext/plain\\n';; *image*) exit 1;; *) printf there;; esac`;
  const content = await readClipboard(on({ scripts: { "wl-paste": script } }));
  expect(content).toEqual({ kind: "text", text: "there" });
});

test("reports a clipboard without text or image", () =>
  everyRow([
    ["echo 'Nothing is copied' >&2; exit 1", { kind: "nothing", words: "wl-paste: Nothing is copied" }],
    ["exit 1", { kind: "nothing", words: "wl-paste returned nothing" }],
    [wlPaste("text/plain", ""), { kind: "nothing", words: "wl-paste returned nothing" }],
    [wlPaste("image/bmp\\nimage/tiff", "x"), { kind: "other", types: ["image/bmp", "image/tiff"] }],
  ] as const)(async ([script, content]) => {
    expect(await readClipboard(on({ scripts: { "wl-paste": script } }))).toEqual(content);
  }));

test("names the missing program", () =>
  everyRow([
    [{ WAYLAND_DISPLAY: "wayland-0" }, "linux", "wl-clipboard"],
    [{ DISPLAY: ":0" }, "linux", "xclip is not installed"],
    [{ WAYLAND_DISPLAY: "w", DISPLAY: ":0" }, "linux", "wl-clipboard) or xclip"],
    [{}, "linux", "neither WAYLAND_DISPLAY nor DISPLAY"],
    [{}, "darwin", "pngpaste or osascript"],
    [{}, "win32", "powershell.exe"],
  ] as const)(async ([variables, platform, named]) => {
    const reading = readClipboard(on({ scripts: {}, variables, platform }));
    await expect(reading).rejects.toMatchObject({
      code: "clipboard_missing",
      message: expect.stringContaining(named),
    });
  }));

test("ends a program that hangs, with its children", async () => {
  const reading = readClipboard(on({ scripts: { "wl-paste": "sleep 1000" }, timeoutMs: 100 }));
  await expect(reading).rejects.toMatchObject({
    code: "clipboard_failed",
    message: expect.stringContaining("wl-paste did not answer within 0.1 s"),
  });
});

test("an abort ends the program", async () => {
  const stop = new AbortController();
  const reading = readClipboard(on({ scripts: { "wl-paste": "sleep 1000" }, signal: stop.signal }));
  stop.abort(new Error("Enough."));
  await expect(reading).rejects.toThrow("Enough.");
});

test("refuses more than 64 MB", async () => {
  const endless = `case "$1" in --list-types) echo image/png;; *) cat /dev/zero;; esac`;
  // A slow machine must reach the size before the time limit.
  const reading = readClipboard(on({ scripts: { "wl-paste": endless }, timeoutMs: 600_000 }));
  await expect(reading).rejects.toMatchObject({ message: expect.stringContaining("more than 64 MB") });
}, 600_000);

test("reads the clipboard of macOS", () =>
  everyRow([
    [{ pngpaste: "printf PNG" }, { kind: "image", bytes: Buffer.from("PNG") }],
    [
      { pngpaste: "exit 1", pbpaste: "printf text" },
      { kind: "text", text: "text" },
    ],
    [{ osascript: "echo '«data PNGf504E47»'" }, { kind: "image", bytes: Buffer.from("PNG") }],
    [
      { osascript: "exit 1", pbpaste: "printf text" },
      { kind: "text", text: "text" },
    ],
  ] as const)(async ([scripts, content]) => {
    expect(await readClipboard(on({ scripts, variables: {}, platform: "darwin" }))).toEqual(content);
  }));

test("reads the clipboard of Windows, also from Linux within it", () =>
  everyRow([
    ["echo 'image UE5H'", { kind: "image", bytes: Buffer.from("PNG") }],
    ["echo 'text Z3LDvG4='", { kind: "text", text: "grün" }],
    ["echo 'text '", { kind: "nothing", words: "powershell.exe returned nothing" }],
  ] as const)(async ([script, content]) => {
    const scripts = { "powershell.exe": script };
    expect(await readClipboard(on({ scripts, platform: "win32", variables: {} }))).toEqual(content);
    expect(await readClipboard(on({ scripts, variables: { WSL_DISTRO_NAME: "Ubuntu" } }))).toEqual(content);
  }));
