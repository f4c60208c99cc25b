/** A Sandbox's statechart, and its whole life to go back and forth in. */
import { Life as LifeOf } from "../machine/Life.tsx"
import type { TabProps } from "./TabProps.ts"

export const Life = ({ sandbox, life }: TabProps) => <LifeOf actorId={sandbox.id} life={life} />
