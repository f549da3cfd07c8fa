import { isUtf8 } from "node:buffer";
import { runClipboardProgram } from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { imageProblem } from "@bonsai-agent/messages/host";
import { imageType, MAX_IMAGE_BYTES } from "../../call/file-mentions.ts";
import { errorText } from "../../views/error-text.ts";
import { bytes as size } from "../../views/numbers.ts";
import { oneLine } from "../../views/terminal-text.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";

/** Pastes the system's clipboard: an image as its mark, a text as a paste. Esc cancels. */
export async function pasteClipboard(context: InteractiveContext): Promise<void> {
  const { host, notify, interruptible } = context;
  await interruptible(async (signal) => {
    try {
      const { content, words } = await readClipboard({ env: { ...host.app.call.io.env }, signal });
      if (content === undefined)
        notify(`The clipboard has nothing to paste (${oneLine(words, 120)}).`, "warning");
      else insert(content, context);
    } catch (error) {
      if (!signal.aborted) notify(errorText(error), "warning");
    }
  });
}

function insert(content: Buffer, { editor, host, notify }: InteractiveContext): void {
  const mimeType = imageType(content);
  const refusal = mimeType === undefined ? textRefusal(content) : imageRefusal(content);
  if (refusal !== undefined) notify(refusal, "warning");
  else if (mimeType === undefined) editor.paste(content.toString("utf8"));
  else {
    editor.insertImage({ type: "image", data: content.toString("base64"), mimeType });
    const { model } = host.agent;
    if (isNoModel(model) || model.input.includes("image")) return;
    notify(
      `${model.name} only reads text, so it will not see the image. Choose another model with /model.`,
      "warning",
    );
  }
}

function textRefusal(content: Buffer): string | undefined {
  return isUtf8(content) && !content.includes(0)
    ? undefined
    : "The clipboard contains neither text nor a PNG, JPEG, WebP or GIF image.";
}

function imageRefusal(content: Buffer): string | undefined {
  const problem = imageProblem(content);
  if (problem !== undefined)
    return `Cannot attach the image from the clipboard: ${problem}. Copy a smaller or repaired image.`;
  if (content.length <= MAX_IMAGE_BYTES) return undefined;
  return `The image on the clipboard is too large (${size(content.length)}, limit ${size(MAX_IMAGE_BYTES)}). Copy a part of it, or save a smaller file and name it with @.`;
}

interface Attempt {
  command: Parameters<typeof runClipboardProgram>[0];
  decode?: (stdout: Buffer) => Buffer;
}

/** The programs of each desktop: first for an image, then for text. */
const WAYLAND: readonly Attempt[] = [
  { command: ["wl-paste", "--type", "image/png"] },
  // Text, or another image if there is no text.
  { command: ["wl-paste", "--no-newline"] },
];
const X11: readonly Attempt[] = [
  { command: ["xclip", "-selection", "clipboard", "-t", "image/png", "-o"] },
  { command: ["xclip", "-selection", "clipboard", "-o"] },
];
const MAC: readonly Attempt[] = [
  // Written as «data PNGf89504E47…».
  {
    command: ["osascript", "-e", "the clipboard as «class PNGf»"],
    decode: (stdout) => Buffer.from(/PNGf([0-9A-F]+)/i.exec(stdout.toString("latin1"))?.[1] ?? "", "hex"),
  },
  { command: ["pbpaste"] },
];
/** Writes the content as base64, so that no code page changes it. */
const POWERSHELL_SCRIPT = [
  "$ErrorActionPreference = 'Stop'",
  "Add-Type -AssemblyName System.Windows.Forms, System.Drawing",
  "$image = [Windows.Forms.Clipboard]::GetImage()",
  "if ($image) { $stream = New-Object IO.MemoryStream; $image.Save($stream, [Drawing.Imaging.ImageFormat]::Png); [Convert]::ToBase64String($stream.ToArray()) }",
  "else { [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes([Windows.Forms.Clipboard]::GetText())) }",
].join("; ");
const WINDOWS: readonly Attempt[] = [
  {
    command: ["powershell.exe", "-NoProfile", "-NonInteractive", "-Sta", "-Command", POWERSHELL_SCRIPT],
    decode: (stdout) => Buffer.from(stdout.toString("latin1"), "base64"),
  },
];

/** In Linux within Windows, the user's clipboard is that of Windows. */
function attemptsFor(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): readonly Attempt[] {
  if (platform === "darwin") return MAC;
  if (platform === "win32") return WINDOWS;
  return [
    ...(env.WSL_DISTRO_NAME || env.WSL_INTEROP ? WINDOWS : []),
    ...(env.WAYLAND_DISPLAY ? WAYLAND : []),
    ...(env.DISPLAY ? X11 : []),
  ];
}

/**
 * Reads the clipboard. Prefers an image to the text beside it. An empty clipboard has no content, but the reason in the
 * words of the last program.
 * @throws BonsaiError `clipboard_missing` if no program can read it, `clipboard_failed` if a program exceeds the time or
 *   size limit; the reason of `signal` once it aborts
 */
export async function readClipboard(
  options: Parameters<typeof runClipboardProgram>[1] = {},
): Promise<{ content?: Buffer; words: string }> {
  const { env = process.env, platform = process.platform } = options;
  const attempts = attemptsFor(platform, env);
  let words: string | undefined;
  let failure: BonsaiError | undefined;
  for (const { command, decode = (stdout: Buffer) => stdout } of attempts) {
    const [program] = command;
    try {
      const ended = await runClipboardProgram(command, options);
      if (ended === undefined) continue;
      const content = ended.code === 0 ? decode(ended.stdout) : Buffer.alloc(0);
      if (content.length > 0) return { content, words: "" };
      const [reason = ""] = ended.stderr.trim().split(/\r?\n/);
      words = reason === "" ? `${program} returned nothing` : `${program}: ${reason}`;
    } catch (error) {
      // Another program may work.
      if (!BonsaiError.is(error) || error.code !== "clipboard_failed") throw error;
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  if (words !== undefined) return { words };
  throw missing(attempts);
}

function missing(attempts: readonly Attempt[]): BonsaiError {
  const programs = [...new Set(attempts.map(({ command: [program] }) => program))].join(" or ");
  const isUnknown = programs === "";
  return new BonsaiError({
    code: "clipboard_missing",
    message: isUnknown
      ? "Cannot read a clipboard here: neither WAYLAND_DISPLAY nor DISPLAY is set. This is usual over SSH."
      : `Cannot read the clipboard: ${programs} is not installed.`,
    hint: isUnknown
      ? "Save the image on this machine and attach it with @FILE. To paste text, use the paste key of your terminal."
      : "Install it, or save the image and attach it with @FILE.",
  });
}
