import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { on } from "../../../extension/test/desk.ts";
import { readClipboard } from "../../src/interactive/session/clipboard.ts";

type Desk = Parameters<typeof on>[0];

const read = async (desk: Desk) => {
  const { content, words } = await readClipboard(on(desk));
  return content?.toString("utf8") ?? words;
};

test("prefers an image to the text beside it", async () => {
  const wlPaste = `case "$*" in *image/png) printf image;; *) printf text;; esac`;
  expect(await read({ scripts: { "wl-paste": wlPaste } })).toBe("image");
  const xclip = `case "$*" in *image/png*) exit 1;; *) printf grün;; esac`;
  expect(await read({ scripts: { xclip }, variables: { DISPLAY: ":0" } })).toBe("grün");
});

test("reads the clipboard of the other desktop if one has nothing or no program", async () => {
  const variables = { WAYLAND_DISPLAY: "wayland-0", DISPLAY: ":0" };
  const xclip = "printf there";
  expect(await read({ scripts: { xclip }, variables })).toBe("there");
  for (const wlPaste of ["echo 'Nothing is copied' >&2; exit 1", "sleep 1000"])
    expect(await read({ scripts: { xclip, "wl-paste": wlPaste }, variables, timeoutMs: 1_000 })).toBe(
      "there",
    );
});

test("reports an empty clipboard in the words of the program", () =>
  everyRow([
    ["echo 'Nothing is copied' >&2; exit 1", "wl-paste: Nothing is copied"],
    ["exit 1", "wl-paste returned nothing"],
  ])(async ([script, words]) => {
    expect(await readClipboard(on({ scripts: { "wl-paste": script } }))).toEqual({ words });
  }));

test("names the missing program", () =>
  everyRow([
    [{ WAYLAND_DISPLAY: "wayland-0" }, "linux", "wl-paste is not installed"],
    [{ WAYLAND_DISPLAY: "w", DISPLAY: ":0" }, "linux", "wl-paste or xclip"],
    [{}, "linux", "neither WAYLAND_DISPLAY nor DISPLAY"],
    [{}, "darwin", "osascript or pbpaste"],
    [{}, "win32", "powershell.exe"],
  ] as const)(async ([variables, platform, named]) => {
    const reading = readClipboard(on({ scripts: {}, variables, platform }));
    await expect(reading).rejects.toMatchObject({
      code: "clipboard_missing",
      message: expect.stringContaining(named),
    });
  }));

test("reads the clipboard of macOS", async () => {
  const read = (scripts: Record<string, string>) =>
    readClipboard(on({ scripts, variables: {}, platform: "darwin" }));
  const image = { content: Buffer.from("PNG"), words: "" };
  expect(await read({ osascript: "echo '«data PNGf504E47»'", pbpaste: "printf text" })).toEqual(image);
  const text = { content: Buffer.from("text"), words: "" };
  expect(await read({ osascript: "exit 1", pbpaste: "printf text" })).toEqual(text);
});

test("reads the clipboard of Windows, also from Linux within it", () =>
  everyRow([
    ["echo Z3LDvG4=", "grün"],
    ["echo", "powershell.exe returned nothing"],
  ])(async ([script, content]) => {
    const scripts = { "powershell.exe": script };
    expect(await read({ scripts, platform: "win32", variables: {} })).toBe(content);
    expect(await read({ scripts, variables: { WSL_DISTRO_NAME: "Ubuntu" } })).toBe(content);
  }));
