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
    switch (block.type) {
      case "text":
        text += blocks[at - 1]?.type === "text" ? `\n\n${block.text}` : block.text;
        break;
      case "image":
        images.push({ type: "image", data: block.data, mimeType: block.mimeType });
        break;
      case "resource_link":
        text += mentionOf(block.uri, cwd);
        break;
      case "resource": {
        const { resource } = block;
        text += mentionOf(resource.uri, cwd);
        if ("text" in resource) quotes.push(quoteOf(nameOf(resource.uri, cwd), resource.text));
        else if (resource.mimeType?.startsWith("image/"))
          images.push({ type: "image", data: resource.blob, mimeType: resource.mimeType });
        else throw unsupported(`the binary resource ${resource.uri}`);
        break;
      }
      default:
        throw unsupported(block.type);
    }
  }
  return { text: [text.trim(), ...quotes].filter(Boolean).join("\n\n"), images };
}

/** As a typed mention, so that compactions recognise the quoted file. */
function mentionOf(uri: string, cwd: string): string {
  const name = nameOf(uri, cwd);
  return /\s/.test(name) ? `@"${name}"` : `@${name}`;
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

function quoteOf(path: string, text: string): string {
  return `<file path=${JSON.stringify(path)}>\n${escapeTag(text.trimEnd(), "file")}\n</file>`;
}

function unsupported(what: string): BonsaiError {
  return new BonsaiError({
    /** A prompt over the Agent Client Protocol has content that no model of Bonsai takes. */
    code: "acp_content_unsupported",
    message: `The prompt contains ${what}, which Bonsai cannot send to a model.`,
    hint: "Send text, images, links to files, or embedded texts.",
  });
}
