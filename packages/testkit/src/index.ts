export { adversarialTexts } from "./adversarial-texts.ts";
export { claudeCodeTranscript, codexTranscript, type TranscriptItem } from "./agent-transcripts.ts";
export { anyText } from "./any-text.ts";
export { type BenchTable, recordedSession } from "./bench.ts";
export {
  type CompactionServer,
  type CompactionServerOptions,
  compactionServer,
} from "./compaction-server.ts";
export { countedReads } from "./counted-reads.ts";
export { type DamageName, damagedSessions, damageFindings } from "./damaged-sessions.ts";
export { everyRow } from "./every-row.ts";
export { fewRuns } from "./few-runs.ts";
export { type GeneratedSession, type GenerateSessionOptions, generateSession } from "./generate-session.ts";
export { type GenerateWorkdayOptions, generateWorkday } from "./generate-workday.ts";
export { type History, history } from "./history-notation.ts";
export { builtCommand, type InstalledCommand, installCommand } from "./installed-command.ts";
export { importFromPi, piVersion } from "./installed-pi.ts";
export {
  type LoopbackReply,
  type LoopbackRequest,
  type LoopbackServer,
  loopbackServer,
  sseChunks,
} from "./loopback-server.ts";
export { type Random, seededRandom } from "./made-text.ts";
export {
  type Wire,
  type WireAnswer,
  type WireCall,
  type WireEvent,
  type WireName,
  wires,
} from "./model-wires.ts";
export {
  type OAuthEndpoint,
  type OAuthFault,
  type OAuthServer,
  type OAuthServerOptions,
  oauthServer,
} from "./oauth-server.ts";
export { PrefixCache } from "./prefix-cache.ts";
export { type ProviderContext, providerContexts } from "./provider-contexts.ts";
export { type TreeOptions, treeArbitrary } from "./tree-arbitrary.ts";
export { type Script, scripts, writtenTurns } from "./written-turns.ts";
