// biome-ignore-all lint/suspicious/noControlCharactersInRegex: they are what is looked for
import { randomBytes } from "node:crypto";
import { crc32, deflateSync } from "node:zlib";
import { everyRow } from "@bonsai-agent/testkit";
import { setCapabilityOverrides } from "@earendil-works/pi-tui";
import { afterEach, expect, test } from "vitest";
import { inlineImage } from "../../src/interactive/terminal/inline-image.ts";
import { agentProject, says } from "../call/agent-project.ts";
import { answer, opened, result, stored, timestamp } from "./chat-setup.ts";
import { openInteractive } from "./harness.ts";
import type { HeadlessTerminal } from "./headless-terminal.ts";

type Protocol = "kitty" | "iterm2" | null;

const has = (images: Protocol) => setCapabilityOverrides({ images });

afterEach(() => setCapabilityOverrides({}));

/** Of noise, as large as it would be of a photo. */
function png(width: number, height: number, noise = 0): Buffer {
  const chunk = (kind: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width);
  head.writeUInt32BE(height, 4);
  head.set([8, 0], 8);
  const rows = Buffer.alloc(Math.min((width + 1) * height, 1_000_000));
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", head),
    ...(noise === 0 ? [] : [chunk("tEXt", randomBytes(noise))]),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

const image = (bytes: Buffer, mimeType = "image/png") =>
  ({ type: "image", data: bytes.toString("base64"), mimeType }) as const;

const call = (id: string) => ({ type: "toolCall", id, name: "read", arguments: { path: "a.png" } }) as const;

/** What a chat with these images in one result is drawn as. */
function drawn(images: readonly object[], { width = 60, isOpen = false } = {}): string[] {
  const { session, chat, screen } = opened();
  session.append([stored(answer([call("c")])), stored(result("c", "", { content: images }))]);
  chat.rebuild(session);
  if (isOpen) chat.toggleExpanded();
  return screen.chat.render(width).slice(2);
}

test("in Kitty, an image is drawn at its size, or as small as its place is", () => {
  has("kitty");
  expect(drawn([image(png(45, 36))])[0]).toMatch(/^\x1b\[3C\x1b_Ga=T,f=100,q=2,C=1,c=5,r=2,i=\d+;/);
  const folded = drawn([image(png(1_000, 500))]);
  expect(folded[0]).toMatch(/,c=32,r=8,/);
  expect(folded.slice(1)).toEqual(Array.from({ length: 7 }, () => ""));
  expect(drawn([image(png(1_000, 500))], { isOpen: true })[0]).toMatch(/,c=56,r=14,/);
  expect(drawn([image(png(1_000, 500))], { width: 20 })[0]).toMatch(/,c=16,r=4,/);
  expect(drawn([image(png(2, 50_000))])[0]).toMatch(/,c=1,r=8,/);
});

test("in iTerm2, an image is drawn from its last row into exactly its cells", () => {
  has("iterm2");
  const lines = drawn([image(png(1_000, 500))]);
  expect(lines).toHaveLength(8);
  expect(lines[7]).toMatch(/^\x1b7\x1b\[7A\x1b\[3C\x1b\]1337;File=inline=1;size=\d+;width=32;height=auto:/);
  expect(lines[7]).toMatch(/\x07\x1b8$/);
  expect(drawn([image(png(45, 10))])[0]).toMatch(/^\x1b7\x1b\[3C\x1b\]1337;.*width=5;height=auto:/);
});

test("an image that cannot be drawn is a line of text", () => {
  const wide = image(png(1_000, 500));
  const broken: [string, unknown, Protocol][] = [
    ["no terminal for it", wide, null],
    [
      "no format of Kitty",
      { ...image(Buffer.from("GIF89a\x40\x00\x40\x00", "latin1"), "image/gif") },
      "kitty",
    ],
    ["an unknown kind", { ...wide, mimeType: "image/tiff" }, "iterm2"],
    ["a wrong kind", { ...wide, mimeType: "image/jpeg" }, "iterm2"],
    ["no base64", { ...wide, data: `${wide.data.slice(0, 400)}\x1b\\\x1b[2J` }, "kitty"],
    ["nothing", { type: "image" }, "kitty"],
    ["too large a file", image(png(10, 10, 3_100_000)), "iterm2"],
  ];
  for (const [why, part, protocol] of broken) {
    has(protocol);
    const lines = drawn([part as object]);
    expect(lines, why).toHaveLength(1);
    expect(lines[0], why).toMatch(/^ {3}\[image.*\]$/);
  }
  expect(inlineImage(wide.data, "image/png")).toMatchObject({ widthPx: 1_000, heightPx: 500 });
});

test("a folded result shows two images, an unfolded one all", () => {
  has("kitty");
  const images = [1, 2, 3].map(() => image(png(18, 18)));
  const shown = (isOpen: boolean) =>
    drawn(images, { isOpen }).map((line) => (line.includes("\x1b_G") ? "drawn" : line.trim().slice(0, 6)));
  expect(shown(false)).toEqual(["drawn", "drawn", "[image"]);
  expect(shown(true)).toEqual(["drawn", "drawn", "drawn"]);
});

test("only the latest images are drawn", () => {
  has("kitty");
  const { session, chat, screen } = opened();
  const show = (count: number, noise: number) => {
    for (let at = 0; at < count; at += 1)
      session.append(stored({ role: "user", content: [image(png(18, 18, noise))], timestamp }));
    chat.rebuild(session);
    return screen.chat.render(60).filter((line) => line.includes("\x1b_G")).length;
  };
  expect(show(12, 0)).toBe(12);
  expect(show(1, 0)).toBe(12);
  expect(screen.chat.render(60)[1]).toContain("[image image/png");
  expect(show(3, 2_500_000)).toBe(2);
});

test("an older image becomes a line of text while the chat grows", async () => {
  has("kitty");
  const { lifecycle, screen } = opened();
  const say = async (entryId: string) => {
    const message = { role: "user" as const, content: [image(png(18, 18, 2_500_000))], timestamp };
    await lifecycle.notify("message_start", { type: "message_start", message });
    await lifecycle.notify("message_stored", { type: "message_stored", message, entryId });
    return screen.chat
      .render(60)
      .map((line) => (line.includes("\x1b_G") ? "drawn" : line.trim().slice(0, 6)));
  };
  expect(await say("a")).toEqual(["", "drawn"]);
  expect(await say("b")).toEqual(["", "drawn", "", "drawn"]);
  expect(await say("c")).toEqual(["", "[image", "", "drawn", "", "drawn"]);
});

const openWith = (file: Buffer, rows: number) =>
  openInteractive({ project: agentProject(says("I have seen it."), { "a.png": file }), rows });
const ids = (terminal: HeadlessTerminal, from = 0) =>
  [
    ...terminal.written
      .slice(from)
      .join("")
      .matchAll(/\x1b_Ga=T,[^;]*i=(\d+)/g),
  ].map(([, id]) => id);

test("an image is sent to the terminal once, whatever is typed and answered after it", () =>
  everyRow(["kitty", "iterm2"] as const)(async (protocol) => {
    has(protocol);
    const sent = () => terminal.written.join("").match(/\x1b_Ga=T,|\x1b\]1337;File=/g);
    const { terminal } = openWith(png(400, 300), 30);
    await terminal.until("100k");
    terminal.type("See @a.png \n");
    await terminal.until("I have seen it.");
    expect(sent()).toHaveLength(1);
    terminal.type("and now something longer");
    await terminal.until("something longer");
    terminal.press("enter");
    await terminal.until((screen) => screen.split("I have seen it.").length === 3);
    expect(sent()).toHaveLength(1);
    expect(terminal.written.join("")).not.toContain("\x1b[3J");
  }));

test("an image at the end of a full screen scrolls it, and clears nothing", async () => {
  has("kitty");
  const { terminal } = openWith(png(400, 300), 14);
  await terminal.until("100k");
  for (const word of ["one", "two", "three"]) {
    terminal.type(`${word} @a.png \n`);
    await terminal.until(new RegExp(`${word} @a.png[^]*I have seen it.`));
  }
  expect(new Set(ids(terminal)).size).toBe(3);
  expect(ids(terminal)).toHaveLength(3);
  expect(terminal.written.join("")).not.toContain("\x1b[3J");
  const lines = terminal.scrollback().split("\n");
  expect(lines.filter((line) => /^ \w+ @a.png$/.test(line))).toEqual([
    " one @a.png",
    " two @a.png",
    " three @a.png",
  ]);
});

test("a resized terminal redraws the image once", async () => {
  has("kitty");
  const { terminal } = openWith(png(800, 600), 30);
  await terminal.until("100k");
  terminal.type("See @a.png \n");
  await terminal.until("I have seen it.");
  const before = terminal.written.length;
  terminal.resize(30, 20);
  await terminal.nextFrame();
  await terminal.settle();
  expect(ids(terminal, before)).toEqual(ids(terminal).slice(0, 1));
  expect(terminal.written.slice(before).join("")).toContain(`\x1b_Ga=d,d=I,i=${ids(terminal)[0]}`);
});

test("a tool's image is drawn once below its call, larger when unfolded", async () => {
  has("kitty");
  const scenario = {
    contextWindow: 100_000,
    turn: [{ calls: [{ name: "read", arguments: { path: "a.png" } }] }, { text: "A picture." }],
  };
  const project = agentProject(scenario, { "a.png": png(900, 600) });
  const { terminal } = openInteractive({ project, rows: 40 });
  await terminal.until("100k");
  terminal.type("What is in it?\n");
  await terminal.until("A picture.");
  // A slow call shows its duration after the path.
  expect(terminal.screen()).toMatch(/read a\.png.*\n/);
  expect(terminal.screen()).not.toContain("[image");
  const rows = () =>
    [...terminal.written.join("").matchAll(/,c=\d+,r=(\d+),i=/g)].map(([, row]) => Number(row));
  expect(rows()).toEqual([10]);
  terminal.press("ctrl+o");
  await terminal.until(() => rows().length === 2);
  expect(rows()).toEqual([10, 26]);
});
