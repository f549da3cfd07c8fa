/** An extension that comes with Bonsai as a package of its own. */
export interface FirstPartyExtension {
  /** The word for it: `bonsai install NAME`. */
  name: string;
  /** Of npm. */
  package: string;
  /** What it does, on one line. */
  description: string;
}

/** By name. A test holds them to the folder `extensions`, whose packages say the same of themselves. */
const descriptions = {
  mcp: "Tools, resources and prompts of MCP servers",
  bedrock: "Models of Amazon Bedrock, through the AWS SDK",
  vertex: "Gemini models, of the Gemini API and of Google Vertex AI, through the Google Gen AI SDK",
  "azure-openai": "Models of Azure OpenAI, through the openai SDK",
  "cheap-summary": "Lets a cheaper model write the summaries, and falls back to the usual one",
  "digest-summary": "Summarises without ever asking a model",
  "full-summary": "Keeps nothing but the summary when it compacts",
  "confirm-compact": "Asks before a compaction, and shows what would go",
  "compact-at": "Compacts at thresholds of your own, in tokens or in dollars",
  "branch-notes": "Turns the summaries of left branches into a log of decisions",
  todo: "A to-do list for the agent that survives compaction",
  "git-checkpoint": "Takes a git snapshot after each turn, and gives the files back on /tree",
  "permission-gate": "Asks before dangerous commands, and blocks them where nobody can be asked",
  "protected-paths": "Keeps the agent from changing files that it should leave alone",
  "audit-log": "Writes every lifecycle event to a JSON Lines file",
  notify: "Tells you when the agent has finished or needs you",
} as const;

/** What `bonsai install` offers. */
export const firstPartyExtensions: readonly FirstPartyExtension[] = Object.entries(descriptions).map(
  ([name, description]) => ({ name, package: `@bonsai-agent/${name}`, description }),
);

/** The package of npm that a short name stands for; undefined for any other word. */
export function firstPartyPackage(name: string): string | undefined {
  return firstPartyExtensions.find((extension) => extension.name === name)?.package;
}
