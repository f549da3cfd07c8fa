export { type Scenario, type ScenarioAnswer, scenarioModel } from "./scenario.ts";
export { scriptedProvider } from "./scripted.ts";
