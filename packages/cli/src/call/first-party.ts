import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

interface FirstPartyExtension {
  name: string;
  package: string;
  description: string;
}

/** By short name. A test compares them with the package.json files in `extensions`. */
const descriptions = {
  mcp: "Tools, resources and prompts of MCP servers",
  bedrock: "Models on Amazon Bedrock, through the AWS SDK",
  vertex: "Gemini models on the Gemini API and Google Vertex AI, through the Google Gen AI SDK",
  "azure-openai": "Models on Azure OpenAI, through the openai SDK",
  "cheap-summary": "Writes summaries with a cheaper model, and falls back to the default one",
  "digest-summary": "Summarises without a model",
  "full-summary": "Keeps only the summary after a compaction",
  "confirm-compact": "Asks before a compaction, and shows its effect",
  "compact-at": "Compacts at your own thresholds, in tokens or dollars",
  "branch-notes": "Writes a decision log entry when you leave a branch and choose a summary",
  todo: "Gives the agent a to-do list that survives compaction",
  "git-checkpoint": "Takes a git snapshot after each turn, and restores the files on /tree",
  "permission-gate": "Asks before commands that do more than read, and blocks them if there is no user",
  "protected-paths": "Stops the agent from changing protected files",
  "audit-log": "Writes every lifecycle event to a JSON Lines file",
  notify: "Sends a notification when the agent has finished, failed or paused",
} as const;

export const firstPartyExtensions: readonly FirstPartyExtension[] = Object.entries(descriptions).map(
  ([name, description]) => ({ name, package: `@bonsai-agent/${name}`, description }),
);

export function findFirstParty(name: string): FirstPartyExtension | undefined {
  return firstPartyExtensions.find((extension) => extension.name === name);
}

/** A record's source is this and the short name. */
export const SHIPPED_PREFIX = "shipped:";

/**
 * The extension's folder beside the bundled command, or in the repository. Undefined in the library, which ships
 * none.
 */
export function shippedFolder(name: string): string | undefined {
  return ["extensions", "../../../../extensions"]
    .map((folder) => join(fileURLToPath(new URL(folder, import.meta.url)), name))
    .find((folder) => existsSync(join(folder, "package.json")));
}
