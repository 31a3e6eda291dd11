import { program } from "../../scripts/program.ts"

export default program("berth")
