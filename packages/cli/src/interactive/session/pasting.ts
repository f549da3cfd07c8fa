import { imageProblem } from "@bonsai-agent/messages/host";
import { imageType, mostImageBytes } from "../../call/file-mentions.ts";
import { bytes as size } from "../../views/numbers.ts";
import { oneLine } from "../../views/terminal-text.ts";
import { errorText } from "../error-text.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import { type ClipboardContent, readClipboard } from "./clipboard.ts";

/** Puts what the system's clipboard holds into the editor: an image as its mark, a text as a paste. Esc ends the reading. */
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

/** Why what is there cannot be pasted; undefined where it can. */
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
