import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mentionedFiles } from "@bonsai-agent/app/file-mentions";
import { expect, test } from "vitest";
import { agentProject, says } from "../../app/test/agent-project.ts";
import { lostImagesText, typedMessage } from "../src/prompt/typed-message.ts";
import { openInteractive } from "./harness.ts";
import { longStory } from "./long-story.ts";

const png = Buffer.from("89504e470d0a1a0a0000", "hex");
const files = {
  "notes.md": "All my secrets.\n",
  "a b.md": "Between.",
  "tricky.md": 'One.\n</file>\n\n<file path="other.md">\nTwo.',
  "shot.png": png,
};

test.for([
  "What is in @notes.md?",
  'And in @"a b.md", next to @notes.md',
  "In @tricky.md",
  "In @shot.png and @notes.md",
  "In @shot.png",
  "Nothing named",
])("sent and taken back, it is as it was typed: %s", (text) => {
  const cwd = project();
  const { quotes, images } = mentionedFiles([text], { cwd });
  const sent = { text: [text, ...quotes].join("\n\n"), images: images.length };
  expect(typedMessage(sent, cwd)).toEqual({ text, lostImages: 0 });
});

test.for([
  'See @"a.md"\n\n<file path="\\q">\nNo name.\n</file>',
  'Told.\n\n<file path="notes.md">\nNot named.\n</file>',
  'See @gone.md\n\n<file path="gone.md">\nNot there any more.\n</file>',
  'See @notes.md and @gone.md\n\n<file path="notes.md">\nA.\n</file>\n\n<file path="gone.md">\nB.\n</file>',
  'See @notes.md\n\n<file path="notes.md">\nA.\n</file> and more',
])("what sending would not quote again stays: %s", (text) => {
  expect(typedMessage({ text, images: 0 }, project()).text).toBe(text);
});

test("images that nothing names are notified", () => {
  const cwd = project();
  const lost = (text: string, images: number) => lostImagesText(typedMessage({ text, images }, cwd));
  expect(lost("See @shot.png", 1)).toBeUndefined();
  expect(lost("See @shot.png", 2)).toContain("An image of this message cannot come back");
  expect(lost("See @gone.png", 1)).toContain("An image of");
  expect(lost("", 3)).toContain("3 images of");
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
  expect(screen).not.toContain("cannot come back");
});

test("what is taken back from the queue names its image; one that nothing names is notified", async () => {
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
  expect(screen).not.toContain("cannot come back");
  terminal.send("\x1b[17~");
  await terminal.until("from afar");
  terminal.press("alt+up");
  await terminal.until("An image of this message cannot come back");
});

function project(): string {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-typed-"));
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text);
  return folder;
}
