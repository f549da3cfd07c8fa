import type { AgentHost } from "../call/agent-host.ts";
import type { RpcCommandName, RpcData, RpcId, RpcNote, RpcParams } from "./protocol.ts";
import type { RpcRuns } from "./runs.ts";

/** The session, the agent and the output that RPC commands work with. */
export interface RpcWork {
  host: AgentHost;
  runs: RpcRuns;
  /** Aborted when the work is stopped. */
  stopped: AbortSignal;
  /** Writes a line beside responses and events. */
  note(line: RpcNote): void;
  /** Ends the mode once the response is written. */
  shutdown(): void;
}

type RpcHandler<Name extends RpcCommandName> = (
  work: RpcWork,
  params: RpcParams<Name>,
  id?: RpcId,
) => Result<RpcData[Name]> | SerialisedData | Promise<Result<RpcData[Name]>>;

/** A handler without data need not return anything. */
type Result<Data> = undefined extends Data ? Data | void : Data;

export type RpcHandlers = { [Name in RpcCommandName]: RpcHandler<Name> };

/** Data of a response that is JSON already. */
export class SerialisedData {
  readonly json: string;

  constructor(json: string) {
    this.json = json;
  }
}
