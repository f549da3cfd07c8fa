export { adversarialTexts } from "./adversarial-texts.ts";
export type { BenchTable } from "./bench-table.ts";
export { damageFindings } from "./damage-findings.ts";
export { type DamageName, damagedSessions } from "./damaged-sessions.ts";
export { type GeneratedSession, type GenerateSessionOptions, generateSession } from "./generate-session.ts";
export { type GenerateWorkdayOptions, generateWorkday } from "./generate-workday.ts";
export { type History, history } from "./history-notation.ts";
export {
  type LoopbackReply,
  type LoopbackRequest,
  type LoopbackServer,
  loopbackServer,
  sseChunks,
} from "./loopback-server.ts";
export { type FaultName, faults, type MisbehavingServer, misbehavingServer } from "./misbehaving-server.ts";
export { type WireName, wires } from "./model-wires.ts";
export {
  type Plant,
  type PlantedLanguage,
  type PlantedSession,
  type PlantedSessionOptions,
  plantedLanguages,
  plantedSession,
  type Trap,
} from "./planted-session.ts";
export { type Random, seededRandom } from "./random.ts";
export { recordedSession } from "./recorded-session.ts";
export { type TreeOptions, treeArbitrary } from "./tree-arbitrary.ts";
