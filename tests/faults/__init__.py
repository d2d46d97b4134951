"""A simulated world in which the host dies, announcers fail and messages come again, and seven promises hold.

`life` is one life of a process, `saver` what it leaves behind, `graphs` the agents, `steps` what may happen,
`hosts` who drives the agents, `world` everybody else and the judge, `machine` the schedules.
`python -m faults --schedules 2000 --seed 1` runs them (`make faults`).
"""
