/** As long as every provider takes them. */
const MAX_CHARS = 64;

/** A tool's name as APIs take it: models call tools that do not exist by names that would be refused for ever. */
export function wireToolName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_CHARS) || "unknown";
}
