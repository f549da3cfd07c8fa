import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { mentionedFiles } from "../../src/call/file-mentions.ts";
import { markOf, PastedImages } from "../../src/interactive/prompt/pasted-images.ts";
import { typedMessage } from "../../src/interactive/prompt/typed-message.ts";
import { agentProject, says } from "../call/agent-project.ts";
import { openInteractive } from "./harness.ts";
import { longStory } from "./long-story.ts";

/** An image of one pixel. */
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const files = {
  "notes.md": "All my secrets.\n",
  "a b.md": "Between.",
  "tricky.md": 'One.\n</file>\n\n<file path="other.md">\nTwo.',
  "shot.png": png,
};

test("a message taken back reads as it was typed", () =>
  everyRow([
    "What is in @notes.md?",
    'And in @"a b.md", next to @notes.md',
    "In @tricky.md",
    "In @shot.png and @notes.md",
    "In @shot.png",
    "Nothing named",
  ])((text) => {
    const cwd = project();
    const { quotes, images } = mentionedFiles([text], { cwd });
    const sent = { text: [text, ...quotes].join("\n\n"), images };
    expect(typedMessage(sent, cwd, new PastedImages())).toBe(text);
  }));

test("a skill's call taken back reads as it was typed", () =>
  everyRow(["", "the form", "what is in @notes.md"])((args) => {
    const cwd = project();
    const { quotes } = mentionedFiles([args], { cwd });
    const call = ['<skill name="pdf" location="/s/pdf/SKILL.md">\nDo it.\n</skill>', args]
      .filter(Boolean)
      .join("\n\n");
    const sent = { text: [call, ...quotes].join("\n\n"), images: [] };
    expect(typedMessage(sent, cwd, new PastedImages())).toBe(`/skill:pdf ${args}`.trim());
  }));

test("text that sending would not quote again stays", () =>
  everyRow([
    'See @"a.md"\n\n<file path="\\q">\nNo name.\n</file>',
    'Told.\n\n<file path="notes.md">\nNot named.\n</file>',
    'See @gone.md\n\n<file path="gone.md">\nNot there any more.\n</file>',
    'See @notes.md and @gone.md\n\n<file path="notes.md">\nA.\n</file>\n\n<file path="gone.md">\nB.\n</file>',
    'See @notes.md\n\n<file path="notes.md">\nA.\n</file> and more',
  ])((text) => {
    expect(typedMessage({ text, images: [] }, project(), new PastedImages())).toBe(text);
  }));

const image = (text: string) => ({
  type: "image" as const,
  data: Buffer.from(text).toString("base64"),
  mimeType: "image/png",
});

test("an image that no file names has a mark, which is held; one with its mark has no other", () => {
  const cwd = project();
  const [one, two] = [image("one"), image("two")];
  const typed = (text: string, images: (typeof one)[]) => {
    const pasted = new PastedImages();
    const message = typedMessage({ text, images }, cwd, pasted);
    return { message, held: pasted.in(message) };
  };
  const marked = `Here ${markOf(one)} is it`;
  expect(typed("See @shot.png", [one])).toEqual({ message: "See @shot.png", held: [] });
  expect(typed("See @shot.png", [one, two])).toEqual({
    message: `See @shot.png ${markOf(two)}`,
    held: [two],
  });
  expect(typed("See @gone.png", [one])).toEqual({ message: `See @gone.png ${markOf(one)}`, held: [one] });
  expect(typed("", [one, two])).toEqual({ message: `${markOf(one)} ${markOf(two)}`, held: [one, two] });
  expect(typed(marked, [one])).toEqual({ message: marked, held: [one] });
  expect(typed(`${marked}: @shot.png`, [two, one])).toEqual({ message: `${marked}: @shot.png`, held: [one] });
});

test("a message that /fork brings back names its files, and does not quote them", async () => {
  const { terminal } = openInteractive({ project: agentProject(says("Read."), files), rows: 40 });
  await terminal.until("/100k");
  terminal.paste("What is in @notes.md and @shot.png");
  terminal.press("enter");
  await terminal.until("Read.");
  terminal.type("/fork\n");
  await terminal.until("which message");
  terminal.press("enter");
  const screen = await terminal.until(/new session[\s\S]*─\nWhat is in @notes\.md and @shot\.png\s*\n─/);
  expect(screen).not.toContain("All my secrets");
  expect(screen).not.toContain("[image-");
});

test("a message taken back from the queue names its image or has a mark", async () => {
  const project = agentProject({ contextWindow: 100_000, turn: [longStory], atEnd: "repeat" }, files);
  mkdirSync(join(project.home, "extensions"), { recursive: true });
  writeFileSync(
    join(project.home, "extensions", "shot.ts"),
    `export default (bonsai) => bonsai.registerShortcut("f6", {
      handler() {
        const image = { type: "image", data: "${png.toString("base64")}", mimeType: "image/png" };
        bonsai.sendUserMessage([{ type: "text", text: "from afar" }, image], { deliverAs: "followUp" });
      },
    });`,
  );
  const { terminal } = openInteractive({ project, rows: 40 });
  await terminal.until("/100k");
  terminal.type("Tell me\n");
  await terminal.until("Begun word");
  terminal.paste("Look at @shot.png");
  terminal.press("enter");
  await terminal.until("Next: Look at");
  terminal.press("alt+up");
  const screen = await terminal.until(/─\nLook at @shot\.png\s*\n─/);
  expect(screen).not.toContain("[image-");
  terminal.send("\x1b[17~");
  await terminal.until("from afar");
  terminal.press("alt+up");
  await terminal.until(/from afar \[image-1x1-[0-9a-f]{8}\]/);
});

function project(): string {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-typed-"));
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text);
  return folder;
}
