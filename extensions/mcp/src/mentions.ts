import type { McpServer } from "./server.ts";
import type { McpServers } from "./servers.ts";

/** A resource that a text names as `@server:uri`. */
export interface Mention {
  server: McpServer;
  uri: string;
}

/** At the beginning of a word only: an `@` inside one belongs to an address. */
const mention = /(?<=^|[\s([{<"'`])@(?:"([^"]+)"|([^\s"'`<>()[\]{}]+))/g;
const punctuation = /[.,;:!?]+$/;

/** The resources that a text names, each once. A word whose first part is no server is somebody else's: a file, a handle. */
export function mentionsIn(text: string, servers: McpServers): Mention[] {
  const found = new Map<string, Mention>();
  for (const [, quoted, bare = ""] of text.matchAll(mention)) {
    const given = quoted ?? bare;
    const at = given.indexOf(":");
    const server = at > 0 ? servers.get(given.slice(0, at)) : undefined;
    if (server === undefined) continue;
    const uri = quoted === undefined ? withoutPunctuation(given.slice(at + 1), server) : given.slice(at + 1);
    if (uri !== "") found.set(`${server.name}:${uri}`, { server, uri });
  }
  return [...found.values()];
}

/** Punctuation behind it belongs to the sentence, unless a resource is called so. */
function withoutPunctuation(uri: string, { resources }: McpServer): string {
  return resources.some((resource) => resource.uri === uri) ? uri : uri.replace(punctuation, "");
}

/** As one writes it in a prompt. */
export function mentionOf(server: string, uri: string): string {
  const whole = `${server}:${uri}`;
  return /[\s"'`<>()[\]{}]/.test(whole) ? `@"${whole}"` : `@${whole}`;
}
