import { runClipboardProgram } from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { imageProblem } from "@bonsai-agent/messages/host";
import { imageType, mostImageBytes } from "../../call/file-mentions.ts";
import { bytes as size } from "../../views/numbers.ts";
import { oneLine } from "../../views/terminal-text.ts";
import { errorText } from "../error-text.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";

/** Pastes the system's clipboard: an image as its mark, a text as a paste. Esc cancels. */
export async function pasteClipboard(context: InteractiveContext): Promise<void> {
  const { host, notify, interruptible } = context;
  await interruptible(async (signal) => {
    try {
      insert(await readClipboard({ env: { ...host.app.call.io.env }, signal }), context);
    } catch (error) {
      if (!signal.aborted) notify(errorText(error), "warning");
    }
  });
}

function insert(content: ClipboardContent, context: InteractiveContext): void {
  const refusal = refusalOf(content);
  if (refusal !== undefined) context.notify(refusal, "warning");
  else if (content.kind === "text") context.editor.paste(content.text);
  else if (content.kind === "image") insertImage(content.bytes, context);
}

/** The reason why the content cannot be pasted, if there is one. */
function refusalOf(content: ClipboardContent): string | undefined {
  switch (content.kind) {
    case "text":
      return undefined;
    case "nothing":
      return `The clipboard has nothing to paste (${oneLine(content.words, 120)}).`;
    case "other":
      return `The clipboard contains neither text nor ${taken}, but ${oneLine(content.types.join(", "), 120)}.`;
    case "image": {
      const { bytes } = content;
      if (imageType(bytes) === undefined) return `The image on the clipboard is not ${taken}.`;
      const problem = imageProblem(bytes);
      if (problem !== undefined)
        return `Cannot attach the image from the clipboard: ${problem}. Copy a smaller or repaired image.`;
      if (bytes.length <= mostImageBytes) return undefined;
      return `The image on the clipboard is too large (${size(bytes.length)}, limit ${size(mostImageBytes)}). Copy a part of it, or save a smaller file and name it with @.`;
    }
  }
}

const taken = "a PNG, JPEG, WebP or GIF image";

function insertImage(bytes: Buffer, { editor, host, notify }: InteractiveContext): void {
  const mimeType = imageType(bytes) ?? "";
  editor.insertImage({ type: "image", data: bytes.toString("base64"), mimeType });
  const { model } = host.agent;
  if (isNoModel(model) || model.input.includes("image")) return;
  notify(
    `${model.name} only reads text, so it will not see the image. Choose another model with /model.`,
    "warning",
  );
}

type ClipboardCommand = Parameters<typeof runClipboardProgram>[0];
type ClipboardOptions = Parameters<typeof runClipboardProgram>[1];
type EndedProgram = NonNullable<Awaited<ReturnType<typeof runClipboardProgram>>>;

/** The content of the system's clipboard. */
export type ClipboardContent =
  | { kind: "image"; bytes: Buffer }
  | { kind: "text"; text: string }
  /** Neither text nor an image that models take: the media types on offer. */
  | { kind: "other"; types: readonly string[] }
  /** Nothing, in the words of the reading program. */
  | { kind: "nothing"; words: string };

/** Types that models take, the best first. */
const imageTypes = ["image/png", "image/jpeg", "image/webp", "image/gif"];
/** Types of plain text, the best first. Copied files are a list of their addresses. */
const textTypes = [
  "text/plain;charset=utf-8",
  "UTF8_STRING",
  "text/plain",
  "STRING",
  "TEXT",
  "text/uri-list",
];

type Run = (command: ClipboardCommand) => Promise<EndedProgram | undefined>;

/** Reads a clipboard with one desktop's programs. */
interface Reader {
  /** The programs to install. */
  needs: string;
  /** Returns undefined if no program is installed. */
  read(run: Run): Promise<ClipboardContent | undefined>;
}

/**
 * Reads the clipboard. Prefers an image to the text beside it.
 * @throws BonsaiError `clipboard_missing` if no program can read it, `clipboard_failed` if a program exceeds the time or
 *   size limit; the reason of `signal` once it aborts
 */
export async function readClipboard(options: ClipboardOptions = {}): Promise<ClipboardContent> {
  const { env = process.env, platform = process.platform } = options;
  const readers = readersFor(platform, env);
  const run: Run = (command) => runClipboardProgram(command, options);
  let latest: ClipboardContent | undefined;
  let failure: BonsaiError | undefined;
  for (const reader of readers) {
    try {
      const content = await reader.read(run);
      if (content !== undefined && content.kind !== "nothing") return content;
      latest = content ?? latest;
    } catch (error) {
      // Another desktop's clipboard may have the content.
      if (!BonsaiError.is(error) || error.code !== "clipboard_failed") throw error;
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return latest ?? missing(readers);
}

/** In Linux within Windows, the user's clipboard is that of Windows. */
function readersFor(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): readonly Reader[] {
  if (platform === "darwin") return [mac];
  if (platform === "win32") return [powerShell];
  return [
    ...(env.WSL_DISTRO_NAME || env.WSL_INTEROP ? [powerShell] : []),
    ...(env.WAYLAND_DISPLAY ? [wayland] : []),
    ...(env.DISPLAY ? [x11] : []),
  ];
}

const wayland = ofTypes("wl-paste (package wl-clipboard)", {
  list: ["wl-paste", "--list-types"],
  get: (type) => ["wl-paste", "--no-newline", "--type", type],
});

const x11 = ofTypes("xclip", {
  list: ["xclip", "-selection", "clipboard", "-t", "TARGETS", "-o"],
  get: (type) => ["xclip", "-selection", "clipboard", "-t", type, "-o"],
});

/** A program that lists the types of the content first. */
function ofTypes(
  needs: string,
  { list, get }: { list: ClipboardCommand; get: (type: string) => ClipboardCommand },
): Reader {
  return {
    needs,
    async read(run) {
      const listed = await run(list);
      if (listed === undefined) return undefined;
      const offered = listed.stdout.toString("utf8").split(/\s+/).filter(Boolean);
      if (listed.code !== 0 || offered.length === 0) return nothing(list, listed);
      let failed: ClipboardContent = { kind: "other", types: offered };
      for (const type of [...imageTypes, ...textTypes].filter((each) => offered.includes(each))) {
        const given = await run(get(type));
        if (given?.code !== 0 || given.stdout.length === 0) failed = nothing(list, given);
        else if (imageTypes.includes(type)) return { kind: "image", bytes: given.stdout };
        else return { kind: "text", text: given.stdout.toString("utf8") };
      }
      return failed;
    },
  };
}

const mac: Reader = {
  needs: "pngpaste or osascript",
  async read(run) {
    const pasted = await run(["pngpaste", "-"]);
    if (pasted?.code === 0 && pasted.stdout.length > 0) return { kind: "image", bytes: pasted.stdout };
    const script: ClipboardCommand = ["osascript", "-e", "the clipboard as «class PNGf»"];
    const answer = pasted === undefined ? await run(script) : undefined;
    // Written as «data PNGf89504E47…».
    const [, hex] = /PNGf([0-9A-F]+)/i.exec(answer?.stdout.toString("latin1") ?? "") ?? [];
    if (hex !== undefined) return { kind: "image", bytes: Buffer.from(hex, "hex") };
    const text = await run(["pbpaste"]);
    if (text?.code === 0 && text.stdout.length > 0)
      return { kind: "text", text: text.stdout.toString("utf8") };
    if (pasted === undefined && answer === undefined && text === undefined) return undefined;
    return nothing(["pbpaste"], text);
  },
};

/** Writes `image` or `text`, then the content as base64, so that no code page changes it. */
const powerShellScript = [
  "$ErrorActionPreference = 'Stop'",
  "Add-Type -AssemblyName System.Windows.Forms, System.Drawing",
  "$image = [Windows.Forms.Clipboard]::GetImage()",
  "if ($image) { $stream = New-Object IO.MemoryStream; $image.Save($stream, [Drawing.Imaging.ImageFormat]::Png); 'image ' + [Convert]::ToBase64String($stream.ToArray()) }",
  "else { 'text ' + [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes([Windows.Forms.Clipboard]::GetText())) }",
].join("; ");

const powerShell: Reader = {
  needs: "powershell.exe",
  async read(run) {
    const command: ClipboardCommand = [
      "powershell.exe",
      "-NoProfile",
      "-NonInteractive",
      "-Sta",
      "-Command",
      powerShellScript,
    ];
    const ended = await run(command);
    if (ended === undefined) return undefined;
    const [, kind, data = ""] =
      /\b(image|text) ([A-Za-z0-9+/=]*)\s*$/.exec(ended.stdout.toString("latin1")) ?? [];
    const bytes = Buffer.from(data, "base64");
    if (ended.code !== 0 || bytes.length === 0) return nothing(command, ended);
    return kind === "image" ? { kind, bytes } : { kind: "text", text: bytes.toString("utf8") };
  },
};

function nothing([program]: ClipboardCommand, ended: EndedProgram | undefined): ClipboardContent {
  const words = ended?.stderr.trim().split(/\r?\n/, 1)[0]?.trim() ?? "";
  return { kind: "nothing", words: words === "" ? `${program} returned nothing` : `${program}: ${words}` };
}

function missing(readers: readonly Reader[]): never {
  const needs = readers.map((reader) => reader.needs).join(" or ");
  throw new BonsaiError({
    code: "clipboard_missing",
    message:
      needs === ""
        ? "Cannot read a clipboard here: neither WAYLAND_DISPLAY nor DISPLAY is set. This is usual over SSH."
        : `Cannot read the clipboard: ${needs} is not installed.`,
    hint:
      needs === ""
        ? "Save the image on this machine and attach it with @FILE. To paste text, use the paste key of your terminal."
        : "Install it, or save the image and attach it with @FILE.",
  });
}
