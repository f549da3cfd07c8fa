import { relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type * as acp from "@agentclientprotocol/sdk";
import { BonsaiError, type ImageContent } from "@bonsai-agent/messages";
import { escapeTag } from "@bonsai-agent/messages/host";
import type { PromptInput } from "../call/prompt-input.ts";

/**
 * The text and images of a prompt. A link becomes a mention, which the model can read; an embedded text follows the
 * prompt in full.
 * @throws BonsaiError `acp_content_unsupported`
 */
export function promptContent(blocks: readonly acp.ContentBlock[], cwd: string): PromptInput {
  const quotes: string[] = [];
  const images: ImageContent[] = [];
  let text = "";
  for (const [at, block] of blocks.entries()) {
    const resource = block.type === "resource" ? block.resource : undefined;
    const uri = block.type === "resource_link" ? block.uri : resource?.uri;
    const name = uri === undefined ? "" : nameOf(uri, cwd);
    // As a typed mention, so that compactions recognise the quoted file.
    if (name !== "") text += /\s/.test(name) ? `@"${name}"` : `@${name}`;
    if (block.type === "text") text += blocks[at - 1]?.type === "text" ? `\n\n${block.text}` : block.text;
    else if (block.type === "image")
      images.push({ type: "image", data: block.data, mimeType: block.mimeType });
    else if (block.type === "audio") throw unsupported("audio");
    else if (resource === undefined) continue;
    else if ("text" in resource) {
      const quote = escapeTag(resource.text.trimEnd(), "file");
      quotes.push(`<file path=${JSON.stringify(name)}>\n${quote}\n</file>`);
    } else if (resource.mimeType?.startsWith("image/"))
      images.push({ type: "image", data: resource.blob, mimeType: resource.mimeType });
    else throw unsupported(`the binary resource ${uri}`);
  }
  const input = { text: [text.trim(), ...quotes].filter(Boolean).join("\n\n"), images };
  if (input.text === "" && images.length === 0) throw unsupported("no text");
  return input;
}

/** The path of a file, relative inside the folder; any other address as it is. */
function nameOf(uri: string, cwd: string): string {
  if (!uri.startsWith("file:")) return uri;
  try {
    const { hash } = new URL(uri);
    const path = fileURLToPath(uri.slice(0, uri.length - hash.length));
    const inside = relative(cwd, path);
    return `${inside === "" || inside.startsWith("..") ? resolve(path) : inside}${hash}`;
  } catch {
    return uri;
  }
}

function unsupported(what: string): BonsaiError {
  return new BonsaiError({
    /** A prompt of a client has content that Bonsai cannot send to a model. */
    code: "acp_content_unsupported",
    message: `The prompt contains ${what}, which Bonsai cannot send to a model.`,
    hint: "Send text, images, links to files, or embedded texts.",
  });
}
