WITH_MPI: bool
